// SPDX-License-Identifier: MIT
// What the kernel files share. Compiled once per SIMD target: include it after hwy/foreach_target.h.
//
// Only pointers and sizes in here and in what includes it: an inline function of the standard library that is
// instantiated there could be compiled for one target and then be picked by the linker for all others.
#if defined(TACIT_CORE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TACIT_CORE_LANES_INL_H
#undef TACIT_CORE_LANES_INL_H
#else
#define TACIT_CORE_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace tacit::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<float, 16>;
using One = hn::CappedTag<float, 1>;

// Calls f(tag, i) for whole vectors and then, with one lane, for the elements that are left. Both run the
// same operations in the same order, so that an element does not depend on where it lies.
template <class F>
HWY_INLINE void for_lanes(std::size_t n, const F& f) {
  const Wide wide;
  const One one;
  const std::size_t lanes = hn::Lanes(wide);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(wide, i);
  for (; i < n; ++i) f(one, i);
}

}  // namespace tacit::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
