// SPDX-License-Identifier: MIT
// The kernels of pack_kernels.h that select, feed back and project. The first half of this file is compiled once per
// SIMD target, the second half once; see host_kernels.cc.
#include <bit>
#include <cstring>

#include "core/host_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/host_select_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tacit::kernels {
namespace HWY_NAMESPACE {

// NOLINTNEXTLINE(readability-function-size): two views and two bounds
std::size_t find_between(const float* x, std::size_t n, std::uint32_t lo, std::uint32_t hi,
                         std::uint32_t* out) {
  const Wide d;
  const hn::RebindToSigned<Wide> s;  // magnitudes have no sign bit
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(s, static_cast<std::int32_t>(lo));
  const auto high = hn::Set(s, static_cast<std::int32_t>(hi));
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::BitCast(s, hn::Abs(hn::LoadU(d, x + i)));
    const auto outside = hn::Or(hn::VecFromMask(s, hn::Lt(v, low)), hn::VecFromMask(s, hn::Gt(v, high)));
    const auto inside = hn::Not(hn::MaskFromVec(outside));
    const std::size_t more = hn::CountTrue(s, inside);
    if (more == 0) continue;
    // A whole vector is written; what is too much is overwritten by the next one.
    const auto at = hn::Compress(hn::Iota(s, static_cast<std::int32_t>(i)), inside);
    hn::StoreU(at, s, reinterpret_cast<std::int32_t*>(out + found));
    found += more;
  }
  for (; i < n; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= kLargestMagnitude;
    if (bits >= lo && bits <= hi) out[found++] = static_cast<std::uint32_t>(i);
  }
  return found;
}

// NOLINTNEXTLINE(readability-function-size): three views and a factor
std::uint32_t add_scaled(const float* x, float a, const float* e, float* out, std::size_t n) {
  const Wide d;
  const hn::RebindToSigned<Wide> bits;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Zero(bits);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto sum = hn::Add(hn::LoadU(d, x + i), hn::Mul(hn::Set(d, a), hn::LoadU(d, e + i)));
    hn::StoreU(sum, d, out + i);
    most = hn::Max(most, hn::BitCast(bits, hn::Abs(sum)));
  }
  auto largest = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(bits, most)));
  for (; i < n; ++i) {
    const float sum = x[i] + a * e[i];
    std::uint32_t magnitude = 0;
    std::memcpy(&magnitude, &sum, sizeof sum);
    magnitude &= kLargestMagnitude;
    if (magnitude > largest) largest = magnitude;
    out[i] = sum;
  }
  return largest;
}

void clear_where(const float* x, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const auto unset = hn::Eq(hn::LoadU(d, x + i), hn::Zero(d));
    hn::StoreU(hn::IfThenElseZero(unset, hn::LoadU(d, y + i)), d, y + i);
  });
}

constexpr std::size_t kPartials = 16;

HWY_INLINE float row_dot(const float* a, const float* v, std::size_t n) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = n / kPartials * kPartials;
  float partial[kPartials];
  for (std::size_t first = 0; first < kPartials; first += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t i = first; i < whole; i += kPartials)
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, v + i)));
    hn::StoreU(sum, d, partial + first);
  }
  for (std::size_t i = whole; i < n; ++i) partial[i - whole] += a[i] * v[i];
  for (std::size_t half = kPartials / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
  return partial[0];
}

// NOLINTNEXTLINE(readability-function-size): a matrix, two vectors and their sizes
void rows_times(const float* a, const float* v, std::size_t cols, float* out, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) out[i] = row_dot(a + i * cols, v, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace tacit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tacit {
namespace kernels {
namespace {

HWY_EXPORT(find_between);
HWY_EXPORT(add_scaled);
HWY_EXPORT(clear_where);
HWY_EXPORT(rows_times);

}  // namespace
}  // namespace kernels

std::size_t HostKernels::find_between(ConstFloatView x, std::uint32_t lo, std::uint32_t hi,
                                      std::span<std::uint32_t> out) const {
  return HWY_DYNAMIC_DISPATCH(kernels::find_between)(address(x), x.size(), lo, hi, out.data());
}

float HostKernels::add_scaled(ConstFloatView x, float a, ConstFloatView e, FloatView out) const {
  return std::bit_cast<float>(
      HWY_DYNAMIC_DISPATCH(kernels::add_scaled)(address(x), a, address(e), address(out), x.size()));
}

void HostKernels::clear_where(ConstFloatView x, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::clear_where)(address(x), address(y), y.size());
}

void HostKernels::rows_times(ConstFloatView a, ConstFloatView v, FloatView out) const {
  HWY_DYNAMIC_DISPATCH(kernels::rows_times)(address(a), address(v), v.size(), address(out), out.size());
}

}  // namespace tacit
#endif  // HWY_ONCE
