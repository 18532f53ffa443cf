// SPDX-License-Identifier: MIT
#include "core/pack_kernels.h"

#include <string>

#include "core/checked_kernels.h"

namespace tacit::kernels {
namespace {

void check_fit(std::size_t got, std::size_t wanted) {
  TACIT_CHECK(got == wanted,
              "a kernel got a view of " + std::to_string(got) + " where " + std::to_string(wanted) + " fit");
}

void check_levels(const Levels& l) {
  const int most = l.per_byte == 1 ? 127 : l.per_byte == 2 ? 7 : 1;
  TACIT_CHECK(l.per_byte == 1 || l.per_byte == 2 || l.per_byte == 4, "levels are packed by 1, 2 or 4");
  TACIT_CHECK(l.count >= 1 && l.count <= most, "so many levels do not fit their bits");
}

}  // namespace

void to_fp16(ConstFloatView x, std::span<std::uint16_t> out) {
  check_fit(out.size(), x.size());
  kernels_of(x).to_fp16(x, out);
}

void to_bf16(ConstFloatView x, std::span<std::uint16_t> out) {
  check_fit(out.size(), x.size());
  kernels_of(x).to_bf16(x, out);
}

void add_fp16(std::span<const std::uint16_t> x, float factor, FloatView y) {
  check_fit(x.size(), y.size());
  kernels_of(y).add_fp16(x, factor, y);
}

void add_bf16(std::span<const std::uint16_t> x, float factor, FloatView y) {
  check_fit(x.size(), y.size());
  kernels_of(y).add_bf16(x, factor, y);
}

Range range_of(ConstFloatView x) { return x.empty() ? Range() : kernels_of(x).range_of(x); }

void to_steps(ConstFloatView x, float middle, float step, Codes out) {
  check_fit(out.size(), x.size());
  kernels_of(x).to_steps(x, middle, step, out);
}

void add_steps(ConstCodes q, float middle, float step, FloatView y) {
  check_fit(q.size(), y.size());
  kernels_of(y).add_steps(q, middle, step, y);
}

void to_signs(ConstFloatView x, Codes out) {
  check_fit(out.size(), packed_bytes(x.size(), 8));
  kernels_of(x).to_signs(x, out);
}

void add_signs(ConstCodes bits, float scale, FloatView y) {
  check_fit(bits.size(), packed_bytes(y.size(), 8));
  kernels_of(y).add_signs(bits, scale, y);
}

void to_levels(ConstFloatView x, const Levels& levels, Draws draws, Codes out) {
  check_levels(levels);
  check_fit(out.size(), packed_bytes(x.size(), levels.per_byte));
  kernels_of(x).to_levels(x, levels, draws, out);
}

void add_levels(ConstCodes codes, const Levels& levels, FloatView y) {
  check_levels(levels);
  check_fit(codes.size(), packed_bytes(y.size(), levels.per_byte));
  kernels_of(y).add_levels(codes, levels, y);
}

std::size_t find_between(ConstFloatView x, std::uint32_t lo, std::uint32_t hi, std::span<std::uint32_t> out) {
  TACIT_CHECK(out.size() >= x.size() + kSlack, "no room for what is found");
  TACIT_CHECK(lo <= kLargestMagnitude && hi <= kLargestMagnitude && x.size() <= kLargestMagnitude,
              "a magnitude or a position does not fit 31 bits");
  return kernels_of(x).find_between(x, lo, hi, out);
}

float add_scaled(ConstFloatView x, float a, ConstFloatView e, FloatView out) {
  TACIT_CHECK(x.size() == e.size() && x.size() == out.size(), "add_scaled: sizes differ");
  return kernels_of(out, x, e).add_scaled(x, a, e, out);
}

void clear_where(ConstFloatView x, FloatView y) {
  TACIT_CHECK(x.size() == y.size(), "clear_where: sizes differ");
  kernels_of(y, x).clear_where(x, y);
}

void rows_times(ConstFloatView a, ConstFloatView v, FloatView out) {
  TACIT_CHECK(a.size() == v.size() * out.size(), "rows_times: sizes differ");
  kernels_of(out, a, v).rows_times(a, v, out);
}

}  // namespace tacit::kernels
