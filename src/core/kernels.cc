// SPDX-License-Identifier: MIT
// The first half of this file is compiled once per SIMD target, the second half once. Compile it with
// -ffp-contract=off: otherwise targets that have a fused multiply-add would round differently from the rest.
#include "tacit/core/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tacit/core/error.h"
#include "tacit/core/phantom.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tacit::kernels {
namespace HWY_NAMESPACE {

void sum(const float* a, const float* b, float* out, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i)
                   HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i); });
}

void difference(const float* a, const float* b, float* out, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i)
                   HWY_ATTR { hn::StoreU(hn::Sub(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i); });
}

void scale(float a, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i)
                   HWY_ATTR { hn::StoreU(hn::Mul(hn::Set(d, a), hn::LoadU(d, y + i)), d, y + i); });
}

void multiply(const float* x, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i)
                   HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i); });
}

void axpy(float a, const float* x, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto ax = hn::Mul(hn::Set(d, a), hn::LoadU(d, x + i));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), ax), d, y + i);
  });
}

void axpby(float a, const float* x, float b, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto ax = hn::Mul(hn::Set(d, a), hn::LoadU(d, x + i));
    const auto by = hn::Mul(hn::Set(d, b), hn::LoadU(d, y + i));
    hn::StoreU(hn::Add(ax, by), d, y + i);
  });
}

void average(const float* x, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto both = hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i));
    hn::StoreU(hn::Mul(hn::Set(d, 0.5F), both), d, y + i);
  });
}

void lerp(float w, const float* x, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto from = hn::LoadU(d, y + i);
    const auto way = hn::Sub(hn::LoadU(d, x + i), from);
    hn::StoreU(hn::Add(from, hn::Mul(hn::Set(d, w), way)), d, y + i);
  });
}

// Element i of a row of kPartials belongs to partial sum i, whatever the width. Partial sums are floats for
// at most kRows additions and then go to doubles, which keeps the rounding of a long sum below kRows 2^-24.
constexpr std::size_t kPartials = 64;
constexpr std::size_t kRows = 32;

// Adds the terms f(tag, x, y) of whole rows to the totals, four vectors at a time. A narrow target goes over
// the rows several times; they are still in the first cache then.
template <class F>
HWY_INLINE void add_rows(const float* x, const float* y, std::size_t rows, const F& f, double* totals) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  float partial[kPartials];
  for (std::size_t first = 0; first < kPartials; first += 4 * lanes) {
    const auto term = [&](std::size_t i) HWY_ATTR { return f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)); };
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t i = row * kPartials + first;
      s0 = hn::Add(s0, term(i));
      s1 = hn::Add(s1, term(i + lanes));
      s2 = hn::Add(s2, term(i + 2 * lanes));
      s3 = hn::Add(s3, term(i + 3 * lanes));
    }
    hn::StoreU(s0, d, partial + first);
    hn::StoreU(s1, d, partial + first + lanes);
    hn::StoreU(s2, d, partial + first + 2 * lanes);
    hn::StoreU(s3, d, partial + first + 3 * lanes);
  }
  for (std::size_t k = 0; k < kPartials; ++k) totals[k] += static_cast<double>(partial[k]);
}

// The sum of f over all elements. The last row is filled with zeros, for which f must give zero.
template <class F>
HWY_INLINE double reduce(const float* x, const float* y, std::size_t n, const F& f) {
  double totals[kPartials] = {};
  std::size_t i = 0;
  for (; i + kRows * kPartials <= n; i += kRows * kPartials) add_rows(x + i, y + i, kRows, f, totals);
  const std::size_t rows = (n - i) / kPartials;
  if (rows > 0) add_rows(x + i, y + i, rows, f, totals);
  i += rows * kPartials;
  if (i < n) {
    float last_x[kPartials] = {};
    float last_y[kPartials] = {};
    std::memcpy(last_x, x + i, (n - i) * sizeof(float));
    std::memcpy(last_y, y + i, (n - i) * sizeof(float));
    add_rows(last_x, last_y, 1, f, totals);
  }
  double total = 0;
  for (const double t : totals) total += t;
  return total;
}

double dot(const float* x, const float* y, std::size_t n) {
  return reduce(x, y, n, [](auto, auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
}

double sum_of(const float* x, std::size_t n) {
  return reduce(x, x, n, [](auto, auto a, auto) HWY_ATTR { return a; });
}

double norm1(const float* x, std::size_t n) {
  return reduce(x, x, n, [](auto, auto a, auto) HWY_ATTR { return hn::Abs(a); });
}

double squared_distance(const float* x, const float* y, std::size_t n) {
  return reduce(x, y, n, [](auto, auto a, auto b) HWY_ATTR {
    const auto gap = hn::Sub(a, b);
    return hn::Mul(gap, gap);
  });
}

// Magnitudes are compared as integers: these order floats of one sign alike and put NaN above infinity, where
// a float maximum may drop it.
float max_abs(const float* x, std::size_t n) {
  const Wide d;
  const hn::RebindToSigned<Wide> bits;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Zero(bits);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::BitCast(bits, hn::Abs(hn::LoadU(d, x + i))));
  if (i < n) {
    float last[16] = {};
    std::memcpy(last, x + i, (n - i) * sizeof(float));
    most = hn::Max(most, hn::BitCast(bits, hn::Abs(hn::LoadU(d, last))));
  }
  return hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(bits, most)));
}

void plain_sgd(const SgdStep& step, const float* g, float* x, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto at = hn::LoadU(d, x + i);
    const auto slope = hn::Add(hn::LoadU(d, g + i), hn::Mul(hn::Set(d, step.weight_decay), at));
    hn::StoreU(hn::Sub(at, hn::Mul(hn::Set(d, step.lr), slope)), d, x + i);
  });
}

void momentum_sgd(const SgdStep& step, const float* g, float* v, float* x, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto momentum = hn::Set(d, step.momentum);
    const auto at = hn::LoadU(d, x + i);
    const auto slope = hn::Add(hn::LoadU(d, g + i), hn::Mul(hn::Set(d, step.weight_decay), at));
    const auto velocity = hn::Add(hn::Mul(momentum, hn::LoadU(d, v + i)), slope);
    const auto way = step.nesterov ? hn::Add(slope, hn::Mul(momentum, velocity)) : velocity;
    hn::StoreU(velocity, d, v + i);
    hn::StoreU(hn::Sub(at, hn::Mul(hn::Set(d, step.lr), way)), d, x + i);
  });
}

void stream(const std::uint8_t* from, std::uint8_t* to, std::size_t n) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  // Streamed stores want aligned addresses: a cache line fits every vector.
  const std::size_t head = std::min(n, (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64);
  std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + lanes <= n; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::memcpy(to + i, from + i, n - i);
  hwy::FlushStream();
}

// NOLINTNEXTLINE(readability-function-size): four vectors, their length and the rule
void adam(const AdamStep& step, const float* g, float* m, float* v, float* x, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto at = hn::LoadU(d, x + i);
    const auto slope = hn::Add(hn::LoadU(d, g + i), hn::Mul(hn::Set(d, step.weight_decay), at));
    const auto first = hn::Add(hn::Mul(hn::Set(d, step.beta1), hn::LoadU(d, m + i)),
                               hn::Mul(hn::Set(d, 1 - step.beta1), slope));
    const auto second = hn::Add(hn::Mul(hn::Set(d, step.beta2), hn::LoadU(d, v + i)),
                                hn::Mul(hn::Set(d, 1 - step.beta2), hn::Mul(slope, slope)));
    const auto root =
        hn::Add(hn::Div(hn::Sqrt(second), hn::Set(d, step.root_correction)), hn::Set(d, step.epsilon));
    const auto way = hn::Div(hn::Mul(hn::Set(d, step.step_size), first), root);
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
    hn::StoreU(hn::Sub(hn::Mul(hn::Set(d, step.decay), at), way), d, x + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tacit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tacit::kernels {
namespace {

HWY_EXPORT(sum);
HWY_EXPORT(difference);
HWY_EXPORT(scale);
HWY_EXPORT(multiply);
HWY_EXPORT(axpy);
HWY_EXPORT(axpby);
HWY_EXPORT(average);
HWY_EXPORT(lerp);
HWY_EXPORT(dot);
HWY_EXPORT(sum_of);
HWY_EXPORT(norm1);
HWY_EXPORT(squared_distance);
HWY_EXPORT(max_abs);
HWY_EXPORT(plain_sgd);
HWY_EXPORT(momentum_sgd);
HWY_EXPORT(adam);
HWY_EXPORT(stream);

void check_equal(std::size_t a, std::size_t b) {
  TACIT_CHECK(a == b, "a kernel got views of " + std::to_string(a) + " and " + std::to_string(b) + " floats");
}

// Whether there is nothing to compute with: phantom.h.
template <class... Views>
bool absent(const Views&... views) {
  return (Phantom::holds(views.data()) || ...);
}

}  // namespace

void add(ConstFloatView x, FloatView y) { sum(y, x, y); }

void subtract(ConstFloatView x, FloatView y) { difference(y, x, y); }

void sum(ConstFloatView a, ConstFloatView b, FloatView out) {
  check_equal(a.size(), b.size());
  check_equal(a.size(), out.size());
  if (absent(a, b, out)) return;
  HWY_DYNAMIC_DISPATCH(sum)(a.data(), b.data(), out.data(), out.size());
}

void difference(ConstFloatView a, ConstFloatView b, FloatView out) {
  check_equal(a.size(), b.size());
  check_equal(a.size(), out.size());
  if (absent(a, b, out)) return;
  HWY_DYNAMIC_DISPATCH(difference)(a.data(), b.data(), out.data(), out.size());
}

void scale(float a, FloatView y) {
  if (absent(y)) return;
  HWY_DYNAMIC_DISPATCH(scale)(a, y.data(), y.size());
}

void multiply(ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return;
  HWY_DYNAMIC_DISPATCH(multiply)(x.data(), y.data(), y.size());
}

void axpy(float a, ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return;
  HWY_DYNAMIC_DISPATCH(axpy)(a, x.data(), y.data(), y.size());
}

void axpby(float a, ConstFloatView x, float b, FloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return;
  HWY_DYNAMIC_DISPATCH(axpby)(a, x.data(), b, y.data(), y.size());
}

void average(ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return;
  HWY_DYNAMIC_DISPATCH(average)(x.data(), y.data(), y.size());
}

void lerp(float w, ConstFloatView x, FloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return;
  HWY_DYNAMIC_DISPATCH(lerp)(w, x.data(), y.data(), y.size());
}

void stream_copy(ConstBytes from, Bytes to) {
  TACIT_CHECK(from.size() == to.size(), "stream_copy: sizes differ");
  if (from.empty() || absent(from, to)) return;
  HWY_DYNAMIC_DISPATCH(stream)
  (reinterpret_cast<const std::uint8_t*>(from.data()), reinterpret_cast<std::uint8_t*>(to.data()),
   from.size());
}

double dot(ConstFloatView x, ConstFloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return 0;
  return HWY_DYNAMIC_DISPATCH(dot)(x.data(), y.data(), x.size());
}

double sum_of(ConstFloatView x) { return absent(x) ? 0 : HWY_DYNAMIC_DISPATCH(sum_of)(x.data(), x.size()); }

double norm2(ConstFloatView x) { return std::sqrt(dot(x, x)); }

double norm1(ConstFloatView x) { return absent(x) ? 0 : HWY_DYNAMIC_DISPATCH(norm1)(x.data(), x.size()); }

double distance2(ConstFloatView x, ConstFloatView y) {
  check_equal(x.size(), y.size());
  if (absent(x, y)) return 0;
  return std::sqrt(HWY_DYNAMIC_DISPATCH(squared_distance)(x.data(), y.data(), x.size()));
}

float max_abs(ConstFloatView x) { return absent(x) ? 0 : HWY_DYNAMIC_DISPATCH(max_abs)(x.data(), x.size()); }

bool all_finite(ConstFloatView x) { return std::isfinite(max_abs(x)); }

void sgd_step(const SgdStep& s, ConstFloatView gradient, FloatView velocity, FloatView params) {
  const std::size_t n = params.size();
  check_equal(gradient.size(), n);
  check_equal(velocity.size(), s.momentum == 0 ? 0 : n);
  if (absent(gradient, params)) return;
  if (s.momentum == 0) {
    HWY_DYNAMIC_DISPATCH(plain_sgd)(s, gradient.data(), params.data(), n);
  } else {
    HWY_DYNAMIC_DISPATCH(momentum_sgd)(s, gradient.data(), velocity.data(), params.data(), n);
  }
}

void adam_step(const AdamStep& s, ConstFloatView gradient, FloatView first, FloatView second,
               FloatView params) {
  const std::size_t n = params.size();
  check_equal(gradient.size(), n);
  check_equal(first.size(), n);
  check_equal(second.size(), n);
  if (absent(gradient, params)) return;
  HWY_DYNAMIC_DISPATCH(adam)(s, gradient.data(), first.data(), second.data(), params.data(), n);
}

}  // namespace tacit::kernels
#endif  // HWY_ONCE
