// SPDX-License-Identifier: MIT
// Values with their positions: what topk and drop share.
//
// Layout  u32 count, u32 position[count], ascending, f32 value[count].
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compress/wire.h"
#include "tacit/core/pack_kernels.h"

namespace tacit::sparse {

constexpr std::size_t bytes_for(std::size_t count) { return sizeof(std::uint32_t) + count * 8; }

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

// Where positions go; fill() adds the values once all are known.
class Writer {
 public:
  explicit Writer(Bytes out) : out_(out), positions_(wire::part<std::uint32_t>(out, 4, out.size() / 4 - 1)) {}
  void put(std::size_t i) { positions_[count_++] = static_cast<std::uint32_t>(i); }
  std::size_t fill(ConstFloatView x) {
    wire::part<std::uint32_t>(out_, 0, 1)[0] = static_cast<std::uint32_t>(count_);
    const auto values = wire::part<float>(out_, 4 + 4 * count_, count_);
    for (std::size_t i = 0; i < count_; ++i) values[i] = x[positions_[i]];
    return bytes_for(count_);
  }

 private:
  Bytes out_;
  std::span<std::uint32_t> positions_;
  std::size_t count_ = 0;
};

inline void decode_add(const char* who, ConstBytes payload, float factor, FloatView y) {
  if (payload.size() < sizeof(std::uint32_t)) wire::refuse(who, "has no count");
  const std::size_t count = wire::part<std::uint32_t>(payload, 0, 1)[0];
  if (count > y.size()) wire::refuse(who, "counts more values than there are");
  wire::expect_bytes(who, payload, bytes_for(count));
  const auto positions = wire::part<std::uint32_t>(payload, 4, count);
  const auto values = wire::part<float>(payload, 4 + 4 * count, count);
  std::size_t next = 0;
  for (const std::uint32_t p : positions) {
    if (p < next || p >= y.size()) wire::refuse(who, "has a position that is out of range or out of order");
    next = std::size_t{p} + 1;
  }
  for (std::size_t i = 0; i < count; ++i) y[positions[i]] += factor * values[i];
}

}  // namespace tacit::sparse
