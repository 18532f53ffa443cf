// SPDX-License-Identifier: MIT
#include "tacit/core/kernels.h"

#include <cmath>
#include <string>

#include "core/checked_kernels.h"

namespace tacit::kernels {
namespace {

void check_equal(std::size_t a, std::size_t b) {
  TACIT_CHECK(a == b, "a kernel got views of " + std::to_string(a) + " and " + std::to_string(b) + " floats");
}

}  // namespace

void fill(float a, FloatView y) { kernels_of(y).fill(a, y); }

void add(ConstFloatView x, FloatView y) { sum(y, x, y); }

void subtract(ConstFloatView x, FloatView y) { difference(y, x, y); }

void sum(ConstFloatView a, ConstFloatView b, FloatView out) {
  check_equal(a.size(), b.size());
  check_equal(a.size(), out.size());
  kernels_of(out, a, b).sum(a, b, out);
}

void difference(ConstFloatView a, ConstFloatView b, FloatView out) {
  check_equal(a.size(), b.size());
  check_equal(a.size(), out.size());
  kernels_of(out, a, b).difference(a, b, out);
}

void scale(float a, FloatView y) { kernels_of(y).scale(a, y); }

void multiply(ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  kernels_of(y, x).multiply(x, y);
}

void axpy(float a, ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  kernels_of(y, x).axpy(a, x, y);
}

void axpby(float a, ConstFloatView x, float b, FloatView y) {
  check_equal(x.size(), y.size());
  kernels_of(y, x).axpby(a, x, b, y);
}

void average(ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  kernels_of(y, x).average(x, y);
}

void sum_all(std::span<const ConstFloatView> all, float factor, FloatView out) {
  TACIT_CHECK(!all.empty(), "a sum of no vectors");
  for (const ConstFloatView x : all) {
    check_equal(x.size(), out.size());
    check_together(out, x);
  }
  kernels_of(out).sum_all(all, factor, out);
}

double dot(ConstFloatView x, ConstFloatView y) {
  check_equal(x.size(), y.size());
  return kernels_of(y, x).dot(x, y);
}

double sum_of(ConstFloatView x) { return kernels_of(x).sum_of(x); }

double norm2(ConstFloatView x) { return std::sqrt(dot(x, x)); }

double norm1(ConstFloatView x) { return kernels_of(x).norm1(x); }

double distance2(ConstFloatView x, ConstFloatView y) {
  check_equal(x.size(), y.size());
  return kernels_of(y, x).distance2(x, y);
}

float max_abs(ConstFloatView x) { return kernels_of(x).max_abs(x); }

bool all_finite(ConstFloatView x) { return std::isfinite(max_abs(x)); }

void sgd_step(const SgdStep& s, ConstFloatView gradient, FloatView velocity, FloatView params) {
  check_equal(gradient.size(), params.size());
  check_equal(velocity.size(), s.momentum == 0 ? 0 : params.size());
  kernels_of(params, gradient, velocity).sgd_step(s, gradient, velocity, params);
}

void adam_step(const AdamStep& s, ConstFloatView gradient, FloatView first, FloatView second,
               FloatView params) {
  check_equal(gradient.size(), params.size());
  check_equal(first.size(), params.size());
  check_equal(second.size(), params.size());
  kernels_of(params, gradient, first, second).adam_step(s, gradient, first, second, params);
}

}  // namespace tacit::kernels
