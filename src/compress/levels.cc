// SPDX-License-Identifier: MIT
#include "compress/levels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "compress/bit_codes.h"
#include "compress/wire.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

// An Elias bucket's worst case in bits: every value set, each with distance 1 (1 bit), sign (1) and |level| <= 127
// (13); longer distances take fewer bits than the values they skip would. Then the number of values.
constexpr std::size_t kEliasBitsPerValue = 15;
constexpr std::size_t kEliasBitsPerBucket = 48;

// Calls value(i, level) for every value of n that is not zero. Returns the bytes read.
template <class Value>
std::size_t walk_elias(BitReader in, const char* who, const LevelRule& rule, std::size_t n,
                       const Value& value) {
  for (std::size_t begin = 0; begin < n; begin += rule.bucket) {
    const std::size_t count = std::min(rule.bucket, n - begin);
    const std::uint32_t set = in.elias() - 1;
    if (set > count) wire::refuse(who, "has more values than its bucket");
    std::size_t next = 0;  // the first position that is free
    for (std::uint32_t i = 0; i < set; ++i) {
      const std::uint32_t distance = in.elias();
      if (distance > count - next) wire::refuse(who, "has a value outside its bucket");
      next += distance;
      const bool minus = in.bit() == 1;
      const std::uint32_t level = in.elias();
      if (level > static_cast<std::uint32_t>(rule.levels))
        wire::refuse(who, "has a level that does not exist");
      value(begin + next - 1, minus ? -static_cast<int>(level) : static_cast<int>(level));
    }
  }
  return in.bytes_read();
}

}  // namespace

LevelCompressor::LevelCompressor(const LevelRule& rule)
    : rule_(rule),
      per_byte_(rule.elias || rule.levels > 7 ? 1
                : rule.levels > 1             ? 2
                                              : 4),
      codes_(rule.elias ? rule.bucket : 0) {}

Slice LevelCompressor::bucket(std::size_t n, std::size_t b) const {
  return {b * rule_.bucket, std::min(rule_.bucket, n - b * rule_.bucket)};
}

Slice LevelCompressor::packed(std::size_t n, std::size_t b) const {
  return {codes_at(n) + b * bucket_bytes(), kernels::packed_bytes(bucket(n, b).count, per_byte_)};
}

std::size_t LevelCompressor::max_bytes(std::size_t n) const {
  if (n == 0) return 0;
  if (rule_.elias) return codes_at(n) + (kEliasBitsPerValue * n + kEliasBitsPerBucket * buckets(n)) / 8 + 1;
  const Slice last = packed(n, buckets(n) - 1);
  return last.offset + last.count;
}

// Squares of very large values do not fit and those of very small ones vanish; the largest magnitude is always right.
float LevelCompressor::level_size(ConstFloatView x) const {
  const float largest = kernels::max_abs(x);
  float norm = largest;
  if (!rule_.max_norm) {
    const auto euclid = static_cast<float>(kernels::norm2(x));
    if (std::isfinite(euclid)) norm = std::max(norm, euclid);
  }
  const float size = norm / static_cast<float>(rule_.levels);
  return size < std::numeric_limits<float>::min() ? 0 : size;
}

std::size_t LevelCompressor::encode(ConstFloatView x, Rng rng, Bytes out) {
  const std::uint64_t key = rng.next();
  const auto sizes = wire::part<float>(out, 0, buckets(x.size()));
  const auto bytes = wire::part<std::uint8_t>(out, 0, out.size());
  BitWriter bits(out.subspan(codes_at(x.size())));
  for (std::size_t b = 0; b < buckets(x.size()); ++b) {
    const Slice s = bucket(x.size(), b);
    sizes[b] = level_size(part(x, s));
    const kernels::Levels levels{rule_.levels, per_byte_, sizes[b]};
    const kernels::Draws draws{key, static_cast<std::uint32_t>(s.offset)};
    if (!rule_.elias) {
      const Slice to = packed(x.size(), b);
      kernels::to_levels(part(x, s), levels, draws, bytes.subspan(to.offset, to.count));
      continue;
    }
    const auto codes = std::span(codes_).first(s.count);
    kernels::to_levels(part(x, s), levels, draws, codes);
    const auto zero = static_cast<std::uint8_t>(rule_.levels);
    bits.elias(static_cast<std::uint32_t>(1 + s.count) -
               static_cast<std::uint32_t>(std::count(codes.begin(), codes.end(), zero)));
    std::size_t next = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == zero) continue;
      const int level = codes[i] - rule_.levels;
      bits.elias(static_cast<std::uint32_t>(i + 1 - next));
      bits.put(level < 0 ? 1 : 0, 1);
      bits.elias(static_cast<std::uint32_t>(std::abs(level)));
      next = i + 1;
    }
  }
  return rule_.elias ? codes_at(x.size()) + bits.finish() : max_bytes(x.size());
}

void LevelCompressor::decode_add(ConstBytes payload, float factor, FloatView y) const {
  if (rule_.elias) return decode_elias(payload, factor, y);
  wire::expect_bytes(rule_.who, payload, max_bytes(y.size()));
  const auto sizes = wire::part<float>(payload, 0, buckets(y.size()));
  const auto bytes = wire::part<std::uint8_t>(payload, 0, payload.size());
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    const Slice from = packed(y.size(), b);
    kernels::add_levels(bytes.subspan(from.offset, from.count), {rule_.levels, per_byte_, factor * sizes[b]},
                        part(y, bucket(y.size(), b)));
  }
}

void LevelCompressor::decode_elias(ConstBytes payload, float factor, FloatView y) const {
  const std::size_t head = codes_at(y.size());
  if (payload.size() < head) wire::refuse(rule_.who, "is shorter than its bucket sizes");
  const auto sizes = wire::part<float>(payload, 0, buckets(y.size()));
  const BitReader in(rule_.who, payload.subspan(head));
  const std::size_t read = walk_elias(in, rule_.who, rule_, y.size(), [](std::size_t, int) {});
  wire::expect_bytes(rule_.who, payload, head + read);
  walk_elias(in, rule_.who, rule_, y.size(), [&, to = y.host()](std::size_t i, int level) {
    to[i] += factor * sizes[i / rule_.bucket] * static_cast<float>(level);
  });
}

}  // namespace tacit
