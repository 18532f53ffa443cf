// SPDX-License-Identifier: MIT
// Values with their positions: what topk and drop share.
//
// Layout  u32 count, u32 position[count], ascending, f32 value[count].
// Packed  u32 count, u16 value[count], the upper halves of floats (bf16.cc); then the gaps between positions in Rice
//         codes with low = floor(log2(n / count)), filled up to a byte: about 3 bytes per value if one of 50 is sent.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compress/bit_codes.h"
#include "compress/wire.h"
#include "core/pack_kernels.h"
#include "tacit/core/options.h"

namespace tacit::sparse {

enum class Layout { kPlain, kPacked };

inline Layout read_layout(OptionReader& options) {
  return options.flag("packed", false, {"half floats and packed positions: fewer bytes"}) ? Layout::kPacked
                                                                                          : Layout::kPlain;
}

inline int low_digits(std::size_t count, std::size_t n) {
  return count == 0 ? 0 : static_cast<int>(std::bit_width(n / count)) - 1;
}

// The most that `count` of n values need.
inline std::size_t bytes_for(Layout layout, std::size_t count, std::size_t n) {
  if (layout == Layout::kPlain) return sizeof(std::uint32_t) + count * 8;
  const int low = low_digits(count, n);
  const std::size_t bits = count * static_cast<std::size_t>(low + 1) + (count == 0 ? 0 : n >> low);
  return sizeof(std::uint32_t) + count * sizeof(std::uint16_t) + (bits + 7) / 8;
}

// max(1, ceil(ratio n)) of n values, none of none.
inline std::size_t kept(double ratio, std::size_t n) {
  if (n == 0) return 0;
  const auto k = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(n)));
  return std::min(n, std::max<std::size_t>(k, 1));
}

inline std::uint32_t magnitude(float x) {
  return std::bit_cast<std::uint32_t>(x) & kernels::kLargestMagnitude;
}

// Walks over a vector in pieces that stay in the first cache and finds magnitudes in a range.
class Finder {
 public:
  // Calls found(i) for every i with lo <= |x_i| <= hi, ascending.
  template <class Found>
  void each(ConstFloatView x, std::uint32_t lo, std::uint32_t hi, const Found& found) {
    for (std::size_t at = 0; at < x.size(); at += kPiece) {
      const std::size_t count =
          kernels::find_between(x.subspan(at, std::min(kPiece, x.size() - at)), lo, hi, positions_);
      for (std::size_t i = 0; i < count; ++i) found(at + positions_[i]);
    }
  }

 private:
  static constexpr std::size_t kPiece = 4096;
  std::array<std::uint32_t, kPiece + kernels::kSlack> positions_;
};

// Writes one payload after another: start(), put() for every position, then fill(), which adds the values.
class Writer {
 public:
  explicit Writer(Layout layout) : layout_(layout) {}

  void start() { positions_.clear(); }
  void put(std::size_t i) { positions_.push_back(static_cast<std::uint32_t>(i)); }
  std::size_t fill(std::span<const float> x, Bytes out) {
    const std::size_t count = positions_.size();
    wire::part<std::uint32_t>(out, 0, 1)[0] = static_cast<std::uint32_t>(count);
    if (layout_ == Layout::kPacked) return pack(x, out);
    std::copy(positions_.begin(), positions_.end(), wire::part<std::uint32_t>(out, 4, count).begin());
    gather(x, wire::part<float>(out, 4 + 4 * count, count));
    return bytes_for(layout_, count, x.size());
  }

 private:
  void gather(std::span<const float> x, std::span<float> values) const {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = x[positions_[i]];
  }
  std::size_t pack(std::span<const float> x, Bytes out) {
    const std::size_t count = positions_.size();
    values_.resize(count);
    gather(x, values_);
    kernels::to_bf16(values_, wire::part<std::uint16_t>(out, 4, count));
    const std::size_t gaps_at = 4 + 2 * count;
    BitWriter bits(out.subspan(gaps_at));
    std::uint32_t next = 0;
    for (const std::uint32_t p : positions_) {
      bits.rice(p - next, low_digits(count, x.size()));
      next = p + 1;
    }
    return gaps_at + bits.finish();
  }

  const Layout layout_;
  std::vector<std::uint32_t> positions_;
  std::vector<float> values_;  // before they are packed
};

// f(i, p) for the i-th position p; throws Mismatch for one that cannot be, and where the bytes do not end with the
// last.
template <class F>
void each_position(const char* who, ConstBytes payload, Layout layout, std::size_t count, std::size_t n,
                   const F& f) {
  std::size_t next = 0;
  const auto check = [&](std::size_t p) {
    if (p < next || p >= n) wire::refuse(who, "has a position that is out of range or out of order");
    next = p + 1;
    return p;
  };
  if (layout == Layout::kPlain) {
    const auto positions = wire::part<std::uint32_t>(payload, 4, count);
    for (std::size_t i = 0; i < count; ++i) f(i, check(positions[i]));
    return;
  }
  const std::size_t gaps_at = 4 + 2 * count;
  BitReader bits(who, payload.subspan(gaps_at));
  for (std::size_t i = 0; i < count; ++i) f(i, check(next + bits.rice(low_digits(count, n))));
  wire::expect_bytes(who, payload, gaps_at + bits.bytes_read());
}

inline void decode_add(const char* who, ConstBytes payload, Layout layout, float factor, std::span<float> y) {
  if (payload.size() < sizeof(std::uint32_t)) wire::refuse(who, "has no count");
  const std::size_t count = wire::part<std::uint32_t>(payload, 0, 1)[0];
  if (count > y.size()) wire::refuse(who, "counts more values than there are");
  const bool packed = layout == Layout::kPacked;
  if (!packed) wire::expect_bytes(who, payload, bytes_for(layout, count, y.size()));
  if (payload.size() < 4 + count * (packed ? 2 : 8)) wire::refuse(who, "is too short for its values");
  const auto each = [&](const auto& f) { each_position(who, payload, layout, count, y.size(), f); };
  each([](std::size_t, std::size_t) {});  // all positions are looked at before a value is changed
  if (packed) {
    const auto values = wire::part<std::uint16_t>(payload, 4, count);
    each([&](std::size_t i, std::size_t p) {
      y[p] += factor * std::bit_cast<float>(std::uint32_t{values[i]} << 16U);
    });
  } else {
    const auto values = wire::part<float>(payload, 4 + 4 * count, count);
    each([&](std::size_t i, std::size_t p) { y[p] += factor * values[i]; });
  }
}

}  // namespace tacit::sparse
