// SPDX-License-Identifier: MIT
// Kernels of the compressors: floats into fewer bits, and back by adding. As in kernels.h, every kernel gives the same
// bits on every CPU, views of one call lie in one space and have fitting lengths (checked), and zero is fine. Input is finite; what comes
// out otherwise is unspecified, but inside its bounds.
#pragma once

#include <cstdint>
#include <span>

#include "tacit/core/views.h"

namespace tacit::kernels {

using Codes = std::span<std::uint8_t>;
using ConstCodes = std::span<const std::uint8_t>;

// Half precision and bfloat16, rounded to nearest, ties to even; what is too large becomes the largest finite value.
void to_fp16(ConstFloatView x, std::span<std::uint16_t> out);
void to_bf16(ConstFloatView x, std::span<std::uint16_t> out);
void add_fp16(std::span<const std::uint16_t> x, float factor, FloatView y);  // y <- y + factor x
void add_bf16(std::span<const std::uint16_t> x, float factor, FloatView y);

// 256 equal steps around the middle: code q stands for middle + (q - 127.5) step.
struct Range {
  float lo = 0;
  float hi = 0;
};
Range range_of(ConstFloatView x);  // {0, 0} for no values
void to_steps(ConstFloatView x, float middle, float step, Codes out);
void add_steps(ConstCodes q, float middle, float step, FloatView y);

// One bit each, 1 for minus; element i is bit i % 8 of byte i / 8.
void to_signs(ConstFloatView x, Codes out);
void add_signs(ConstCodes bits, float scale, FloatView y);  // y_i <- y_i +- scale

// Where a kernel's random draws come from: draw i is a hash of (key, first + i).
struct Draws {
  std::uint64_t key = 0;
  std::uint32_t first = 0;
};

// Stochastic rounding of x / size to the levels -count .. count, `per_byte` (1, 2 or 4) of them in a byte. With
// h = ceil(n / per_byte) bytes, byte j holds elements j, j + h, j + 2h, ..., lowest bits first, each as level + count.
struct Levels {
  int count = 1;
  int per_byte = 4;
  float size = 0;  // of one level; 0: all elements are level 0
};
constexpr std::size_t packed_bytes(std::size_t n, int per_byte) {
  return (n + static_cast<std::size_t>(per_byte) - 1) / static_cast<std::size_t>(per_byte);
}
void to_levels(ConstFloatView x, const Levels& levels, Draws draws, Codes out);
void add_levels(ConstCodes codes, const Levels& levels, FloatView y);  // y <- y + size level

// Magnitudes as integers, which order them as floats do.
constexpr std::uint32_t kLargestMagnitude = 0x7FFFFFFF;
// Writes the positions of the elements with lo <= |x_i| <= hi, ascending, and says how many. `out` has room for
// kSlack more than x has elements.
constexpr std::size_t kSlack = 16;
std::size_t find_between(ConstFloatView x, std::uint32_t lo, std::uint32_t hi, std::span<std::uint32_t> out);

// out <- x + a e; returns the largest magnitude in out, NaN where there is one.
float add_scaled(ConstFloatView x, float a, ConstFloatView e, FloatView out);
// y_i <- 0 where x_i is not 0.
void clear_where(ConstFloatView x, FloatView y);
// out[i] <- dot(row i of a, v), for a of out.size() rows as long as v. Floats throughout, 16 partial sums.
void rows_times(ConstFloatView a, ConstFloatView v, FloatView out);

}  // namespace tacit::kernels
