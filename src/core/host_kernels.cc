// SPDX-License-Identifier: MIT
// The first half of this file is compiled once per SIMD target, the second half once. Compile it with
// -ffp-contract=off: otherwise targets that have a fused multiply-add would round differently from the rest.
#include "core/host_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tacit/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/host_kernels.cc"
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
namespace tacit {
namespace kernels {
namespace {

HWY_EXPORT(sum);
HWY_EXPORT(difference);
HWY_EXPORT(scale);
HWY_EXPORT(multiply);
HWY_EXPORT(axpy);
HWY_EXPORT(axpby);
HWY_EXPORT(average);
HWY_EXPORT(dot);
HWY_EXPORT(sum_of);
HWY_EXPORT(norm1);
HWY_EXPORT(squared_distance);
HWY_EXPORT(max_abs);
HWY_EXPORT(plain_sgd);
HWY_EXPORT(momentum_sgd);
HWY_EXPORT(adam);
HWY_EXPORT(stream);

}  // namespace

void stream_copy(ConstBytes from, Bytes to) {
  TACIT_CHECK(from.size() == to.size(), "stream_copy: sizes differ");
  if (from.empty() || !has_content(from) || !has_content(to)) return;
  HWY_DYNAMIC_DISPATCH(stream)
  (reinterpret_cast<const std::uint8_t*>(from.data()), reinterpret_cast<std::uint8_t*>(to.data()),
   from.size());
}

}  // namespace kernels

constinit const HostKernels kHostKernels{};

void HostKernels::fill(float a, FloatView y) const { std::fill_n(address(y), y.size(), a); }

void HostKernels::sum(ConstFloatView a, ConstFloatView b, FloatView out) const {
  HWY_DYNAMIC_DISPATCH(kernels::sum)(address(a), address(b), address(out), out.size());
}

void HostKernels::difference(ConstFloatView a, ConstFloatView b, FloatView out) const {
  HWY_DYNAMIC_DISPATCH(kernels::difference)(address(a), address(b), address(out), out.size());
}

void HostKernels::scale(float a, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::scale)(a, address(y), y.size());
}

void HostKernels::multiply(ConstFloatView x, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::multiply)(address(x), address(y), y.size());
}

void HostKernels::axpy(float a, ConstFloatView x, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::axpy)(a, address(x), address(y), y.size());
}

void HostKernels::axpby(float a, ConstFloatView x, float b, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::axpby)(a, address(x), b, address(y), y.size());
}

void HostKernels::average(ConstFloatView x, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::average)(address(x), address(y), y.size());
}

void HostKernels::sum_all(std::span<const ConstFloatView> all, float factor, FloatView out) const {
  if (all.size() == 1) {
    if (!out.is(all[0])) copy(all[0], out);
    return scale(factor, out);
  }
  // Small enough that the running sum stays in the first-level cache while all the others are added to it.
  constexpr std::size_t kBlock = 4096;
  std::array<float, kBlock> kept;
  std::size_t own = 0;  // the place of out, if it has one
  while (own < all.size() && !out.is(all[own])) ++own;
  for (std::size_t at = 0; at < out.size(); at += kBlock) {
    const Slice block{at, std::min(kBlock, out.size() - at)};
    const FloatView total = part(out, block);
    const FloatView mine = FloatView(kept).first(block.count);
    if (own >= 2 && own < all.size()) copy(total, mine);  // it is overwritten before its turn comes
    sum(part(all[0], block), part(all[1], block), total);
    for (std::size_t i = 2; i < all.size(); ++i)
      sum(total, i == own ? ConstFloatView(mine) : part(all[i], block), total);
    if (factor != 1.0F) scale(factor, total);
  }
}

double HostKernels::dot(ConstFloatView x, ConstFloatView y) const {
  return HWY_DYNAMIC_DISPATCH(kernels::dot)(address(x), address(y), x.size());
}

double HostKernels::sum_of(ConstFloatView x) const {
  return HWY_DYNAMIC_DISPATCH(kernels::sum_of)(address(x), x.size());
}

double HostKernels::norm1(ConstFloatView x) const {
  return HWY_DYNAMIC_DISPATCH(kernels::norm1)(address(x), x.size());
}

double HostKernels::distance2(ConstFloatView x, ConstFloatView y) const {
  return std::sqrt(HWY_DYNAMIC_DISPATCH(kernels::squared_distance)(address(x), address(y), x.size()));
}

float HostKernels::max_abs(ConstFloatView x) const {
  return HWY_DYNAMIC_DISPATCH(kernels::max_abs)(address(x), x.size());
}

void HostKernels::sgd_step(const kernels::SgdStep& s, ConstFloatView gradient, FloatView velocity,
                           FloatView params) const {
  const std::size_t n = params.size();
  if (s.momentum == 0)
    return HWY_DYNAMIC_DISPATCH(kernels::plain_sgd)(s, address(gradient), address(params), n);
  HWY_DYNAMIC_DISPATCH(kernels::momentum_sgd)(s, address(gradient), address(velocity), address(params), n);
}

void HostKernels::adam_step(const kernels::AdamStep& s, ConstFloatView gradient, FloatView first,
                            FloatView second, FloatView params) const {
  HWY_DYNAMIC_DISPATCH(kernels::adam)
  (s, address(gradient), address(first), address(second), address(params), params.size());
}

}  // namespace tacit
#endif  // HWY_ONCE
