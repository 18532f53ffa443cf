// SPDX-License-Identifier: MIT
// How a flat vector is cut into one chunk per rank. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tacit/core/views.h"

namespace tacit {

// Cuts lie on multiples of a cache line (16 floats), so that two ranks never write to the same line and
// kernels start aligned; the last chunks may therefore be short or empty.
inline constexpr std::size_t kChunkUnit = 16;

// Chunks first .. last-1 of `parts`, which lie side by side.
constexpr Slice chunks(std::size_t count, int parts, int first, int last) {
  const std::size_t units = (count + kChunkUnit - 1) / kChunkUnit;
  const auto cut = [&](int i) {
    return std::min(count,
                    units * static_cast<std::size_t>(i) / static_cast<std::size_t>(parts) * kChunkUnit);
  };
  return {cut(first), cut(last) - cut(first)};
}
constexpr Slice chunk(std::size_t count, int parts, int i) { return chunks(count, parts, i, i + 1); }

static_assert(chunk(0, 3, 1) == Slice{0, 0});
static_assert(chunk(100, 1, 0) == Slice{0, 100});
static_assert(chunk(100, 3, 2).offset + chunk(100, 3, 2).count == 100);

}  // namespace tacit
