// SPDX-License-Identifier: MIT
// The first half of this file is compiled once per SIMD target, the second half once; see host_kernels.cc.
#include <array>
#include <cmath>
#include <cstring>

#include "core/host_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/host_pack_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tacit::kernels {
namespace HWY_NAMESPACE {

template <class D>
using Unsigned = hn::RebindToUnsigned<D>;
template <class D>
using Signed = hn::RebindToSigned<D>;

constexpr std::uint32_t kSign = 0x80000000U;

// The bits of |x| as a half. Below 2^-14 an addition does the rounding: 0.5's last place is the half's smallest step.
template <class D, class V>
HWY_INLINE auto half_magnitude(D d, V magnitude) {
  const Unsigned<D> u;
  const auto bits = hn::Min(hn::BitCast(u, magnitude), hn::Set(u, 0x477FE000U));  // 65504
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(u, 1U));
  const auto biased = hn::Add(bits, hn::Add(odd, hn::Set(u, 0xFFFU - 0x38000000U)));
  const auto half = hn::Set(d, 0.5F);
  const auto tiny = hn::Sub(hn::BitCast(u, hn::Add(magnitude, half)), hn::BitCast(u, half));
  return hn::IfThenElse(hn::Lt(bits, hn::Set(u, 0x38800000U)), tiny, hn::ShiftRight<13>(biased));
}

template <class D, class V>
HWY_INLINE auto bfloat_magnitude(D, V magnitude) {
  const Unsigned<D> u;
  const auto bits = hn::BitCast(u, magnitude);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFFU))));
  return hn::Min(rounded, hn::Set(u, 0x7F7FU));
}

template <class F>
HWY_INLINE void to_16(const float* x, std::uint16_t* out, std::size_t n, const F& magnitude_of) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const Unsigned<decltype(d)> u;
    const hn::Rebind<std::uint16_t, decltype(d)> narrow;
    const auto v = hn::LoadU(d, x + i);
    const auto sign = hn::ShiftRight<16>(hn::And(hn::BitCast(u, v), hn::Set(u, kSign)));
    hn::StoreU(hn::TruncateTo(narrow, hn::Or(sign, magnitude_of(d, hn::Abs(v)))), narrow, out + i);
  });
}

void to_fp16(const float* x, std::uint16_t* out, std::size_t n) {
  to_16(x, out, n, [](auto d, auto v) HWY_ATTR { return half_magnitude(d, v); });
}

void to_bf16(const float* x, std::uint16_t* out, std::size_t n) {
  to_16(x, out, n, [](auto d, auto v) HWY_ATTR { return bfloat_magnitude(d, v); });
}

void add_fp16(const std::uint16_t* x, float factor, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const Unsigned<decltype(d)> u;
    const Signed<decltype(d)> s;
    const hn::Rebind<std::uint16_t, decltype(d)> narrow;
    const auto h = hn::PromoteTo(u, hn::LoadU(narrow, x + i));
    const auto magnitude = hn::And(h, hn::Set(u, 0x7FFFU));
    const auto normal = hn::BitCast(d, hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(u, 0x38000000U)));
    const auto tiny = hn::Mul(hn::ConvertTo(d, hn::BitCast(s, magnitude)), hn::Set(d, 0x1.0p-24F));
    const auto is_tiny =
        hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(u, hn::Lt(magnitude, hn::Set(u, 0x400U)))));
    const auto sign = hn::BitCast(d, hn::ShiftLeft<16>(hn::And(h, hn::Set(u, 0x8000U))));
    const auto value = hn::Or(hn::IfThenElse(is_tiny, tiny, normal), sign);
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Mul(hn::Set(d, factor), value)), d, y + i);
  });
}

void add_bf16(const std::uint16_t* x, float factor, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const Unsigned<decltype(d)> u;
    const hn::Rebind<std::uint16_t, decltype(d)> narrow;
    const auto value = hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u, hn::LoadU(narrow, x + i))));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Mul(hn::Set(d, factor), value)), d, y + i);
  });
}

void range(const float* x, std::size_t n, float* lo_hi) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  auto lo = hn::Set(d, x[0]);
  auto hi = lo;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    lo = hn::Min(lo, v);
    hi = hn::Max(hi, v);
  }
  float low = hn::GetLane(hn::MinOfLanes(d, lo));
  float high = hn::GetLane(hn::MaxOfLanes(d, hi));
  for (; i < n; ++i) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  lo_hi[0] = low + 0.0F;  // one zero only: which of two zeros is the minimum depends on the target
  lo_hi[1] = high + 0.0F;
}

// Halves throughout: the distance of two floats may be too large for one.
void to_steps(const float* x, float middle, float per_half, std::uint8_t* out, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const Signed<decltype(d)> s;
    const hn::Rebind<std::uint8_t, decltype(d)> narrow;
    const auto half = hn::Set(d, 0.5F);
    const auto gap = hn::Sub(hn::Mul(half, hn::LoadU(d, x + i)), hn::Set(d, 0.5F * middle));
    const auto at = hn::Add(hn::Mul(gap, hn::Set(d, per_half)), hn::Set(d, 128.0F));
    const auto inside = hn::Min(hn::Max(at, hn::Zero(d)), hn::Set(d, 255.0F));
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(s, inside)), narrow, out + i);
  });
}

void add_steps(const std::uint8_t* q, float middle, float step, float* y, std::size_t n) {
  for_lanes(n, [=](auto d, std::size_t i) HWY_ATTR {
    const Signed<decltype(d)> s;
    const hn::Rebind<std::uint8_t, decltype(d)> narrow;
    const auto code = hn::ConvertTo(d, hn::PromoteTo(s, hn::LoadU(narrow, q + i)));
    const auto away = hn::Mul(hn::Sub(code, hn::Set(d, 127.5F)), hn::Set(d, step));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Add(hn::Set(d, middle), away)), d, y + i);
  });
}

void to_signs(const float* x, std::uint8_t* out, std::size_t n) {
  const Wide d;
  const Signed<Wide> s;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < 32; j += lanes) {
      const auto negative = hn::Lt(hn::BitCast(s, hn::LoadU(d, x + i + j)), hn::Zero(s));
      // Not an integer by another name: GCC 12 reads it too early with -fsanitize=thread.
      std::array<std::uint8_t, 8> bits{};
      hn::StoreMaskBits(s, negative, bits.data());
      std::uint64_t part = 0;
      std::memcpy(&part, bits.data(), sizeof part);
      word |= part << j;
    }
    std::memcpy(out + i / 8, &word, 4);
  }
  for (std::size_t j = i; j < n; j += 8) out[j / 8] = 0;
  for (; i < n; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | (bits >> 31U) << (i % 8));
  }
}

void add_signs(const std::uint8_t* in, float scale, float* y, std::size_t n) {
  const Wide d;
  const Unsigned<Wide> u;
  const std::size_t lanes = hn::Lanes(d);
  const auto size = hn::BitCast(u, hn::Set(d, scale));
  const auto top = hn::Sub(hn::Set(u, 31U), hn::Iota(u, 0U));  // brings bit `lane` of a word to its top
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    std::uint32_t word = 0;
    std::memcpy(&word, in + i / 8, 4);
    for (std::size_t j = 0; j < 32;
         j += lanes, word = static_cast<std::uint32_t>(std::uint64_t{word} >> lanes)) {
      const auto sign = hn::And(hn::Shl(hn::Set(u, word), top), hn::Set(u, kSign));
      hn::StoreU(hn::Add(hn::LoadU(d, y + i + j), hn::BitCast(d, hn::Xor(size, sign))), d, y + i + j);
    }
  }
  for (; i < n; ++i) y[i] += (in[i / 8] >> (i % 8) & 1U) != 0 ? -scale : scale;
}

// In (0, 1), in the middles of 2^16 equal parts: few enough digits that adding one to an integer below 128 is exact.
// The mixing is MurmurHash3's 32-bit finaliser (Appleby) with half of the key inside.
template <class D>
HWY_INLINE hn::Vec<D> draw(D d, std::uint64_t key, std::uint32_t first) {
  const Unsigned<D> u;
  const Signed<D> s;
  auto z = hn::Iota(u, first + static_cast<std::uint32_t>(key));
  z = hn::Mul(hn::Xor(z, hn::ShiftRight<16>(z)), hn::Set(u, 0x85EBCA6BU));
  z = hn::Xor(z, hn::Set(u, static_cast<std::uint32_t>(key >> 32U)));
  z = hn::Mul(hn::Xor(z, hn::ShiftRight<13>(z)), hn::Set(u, 0xC2B2AE35U));
  const auto part = hn::BitCast(s, hn::ShiftRight<16>(hn::Xor(z, hn::ShiftRight<16>(z))));
  return hn::Mul(hn::Add(hn::ConvertTo(d, part), hn::Set(d, 0.5F)), hn::Set(d, 0x1.0p-16F));
}

// The level of x, plus count: floor(x / size + a draw) is x / size on average, on both sides of zero.
template <class D>
HWY_INLINE hn::Vec<Unsigned<D>> level(D d, const float* x, float per_level, int count, std::uint64_t key,
                                      std::uint32_t at) {
  const Signed<D> s;
  const Unsigned<D> u;
  const auto scaled = hn::Mul(hn::LoadU(d, x), hn::Set(d, per_level));
  const auto shifted = hn::Add(hn::Add(scaled, hn::Set(d, static_cast<float>(count))), draw(d, key, at));
  const auto whole = hn::ConvertTo(s, hn::Max(shifted, hn::Zero(d)));
  return hn::BitCast(u, hn::Min(whole, hn::Set(s, 2 * count)));
}

template <int kPerByte>
// NOLINTNEXTLINE(readability-function-size): a rule, its draws, two views
HWY_INLINE void pack_levels(const float* x, std::size_t n, float per_level, int count, Draws draws,
                            std::uint8_t* out) {
  constexpr int kBits = 8 / kPerByte;
  const std::size_t h = (n + kPerByte - 1) / kPerByte;
  const std::size_t whole = n > (kPerByte - 1) * h ? n - (kPerByte - 1) * h : 0;
  for_lanes(whole, [=](auto d, std::size_t j) HWY_ATTR {
    const Unsigned<decltype(d)> u;
    const hn::Rebind<std::uint8_t, decltype(d)> narrow;
    auto packed = hn::Zero(u);
    for (int i = kPerByte - 1; i >= 0; --i) {
      const std::size_t at = j + static_cast<std::size_t>(i) * h;
      packed = hn::Or(hn::ShiftLeft<kBits % 8>(packed), level(d, x + at, per_level, count, draws.key,
                                                              draws.first + static_cast<std::uint32_t>(at)));
    }
    hn::StoreU(hn::TruncateTo(narrow, packed), narrow, out + j);
  });
  const One one;
  for (std::size_t j = whole; j < h; ++j) {
    std::uint32_t packed = 0;
    int shift = 0;
    for (std::size_t at = j; at < n; at += h, shift += kBits)
      packed |= hn::GetLane(level(one, x + at, per_level, count, draws.key,
                                  draws.first + static_cast<std::uint32_t>(at)))
                << shift;
    out[j] = static_cast<std::uint8_t>(packed);
  }
}

template <int kPerByte>
HWY_INLINE void unpack_levels(const std::uint8_t* in, float size, int count, float* y, std::size_t n) {
  constexpr int kBits = 8 / kPerByte;
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  const std::size_t h = (n + kPerByte - 1) / kPerByte;
  const std::size_t whole = n > (kPerByte - 1) * h ? n - (kPerByte - 1) * h : 0;
  for_lanes(whole, [=](auto d, std::size_t j) HWY_ATTR {
    const Unsigned<decltype(d)> u;
    const Signed<decltype(d)> s;
    const hn::Rebind<std::uint8_t, decltype(d)> narrow;
    auto packed = hn::PromoteTo(u, hn::LoadU(narrow, in + j));
    for (std::size_t i = 0; i < kPerByte; ++i, packed = hn::ShiftRight<kBits>(packed)) {
      const auto code = hn::BitCast(s, hn::And(packed, hn::Set(u, kMask)));
      const auto value = hn::Mul(hn::ConvertTo(d, hn::Sub(code, hn::Set(s, count))), hn::Set(d, size));
      float* const to = y + j + i * h;
      hn::StoreU(hn::Add(hn::LoadU(d, to), value), d, to);
    }
  });
  for (std::size_t j = whole; j < h; ++j) {
    std::uint32_t packed = in[j];
    for (std::size_t at = j; at < n; at += h, packed >>= kBits)
      y[at] += static_cast<float>(static_cast<int>(packed & kMask) - count) * size;
  }
}

void to_levels(const float* x, std::size_t n, const Levels& levels, Draws draws, std::uint8_t* out) {
  const float per_level = levels.size > 0 ? 1.0F / levels.size : 0.0F;
  if (levels.per_byte == 1) return pack_levels<1>(x, n, per_level, levels.count, draws, out);
  if (levels.per_byte == 2) return pack_levels<2>(x, n, per_level, levels.count, draws, out);
  pack_levels<4>(x, n, per_level, levels.count, draws, out);
}

void add_levels(const std::uint8_t* in, const Levels& levels, float* y, std::size_t n) {
  if (levels.per_byte == 1) return unpack_levels<1>(in, levels.size, levels.count, y, n);
  if (levels.per_byte == 2) return unpack_levels<2>(in, levels.size, levels.count, y, n);
  unpack_levels<4>(in, levels.size, levels.count, y, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace tacit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tacit {
namespace kernels {
namespace {

HWY_EXPORT(to_fp16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(add_fp16);
HWY_EXPORT(add_bf16);
HWY_EXPORT(range);
HWY_EXPORT(to_steps);
HWY_EXPORT(add_steps);
HWY_EXPORT(to_signs);
HWY_EXPORT(add_signs);
HWY_EXPORT(to_levels);
HWY_EXPORT(add_levels);

}  // namespace
}  // namespace kernels

void HostKernels::to_fp16(ConstFloatView x, std::span<std::uint16_t> out) const {
  HWY_DYNAMIC_DISPATCH(kernels::to_fp16)(address(x), out.data(), x.size());
}

void HostKernels::to_bf16(ConstFloatView x, std::span<std::uint16_t> out) const {
  HWY_DYNAMIC_DISPATCH(kernels::to_bf16)(address(x), out.data(), x.size());
}

void HostKernels::add_fp16(std::span<const std::uint16_t> x, float factor, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::add_fp16)(x.data(), factor, address(y), y.size());
}

void HostKernels::add_bf16(std::span<const std::uint16_t> x, float factor, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::add_bf16)(x.data(), factor, address(y), y.size());
}

kernels::Range HostKernels::range_of(ConstFloatView x) const {
  float lo_hi[2];
  HWY_DYNAMIC_DISPATCH(kernels::range)(address(x), x.size(), lo_hi);
  return {lo_hi[0], lo_hi[1]};
}

void HostKernels::to_steps(ConstFloatView x, float middle, float step, kernels::Codes out) const {
  const float per_half = step > 0 ? 2.0F / step : 0.0F;
  HWY_DYNAMIC_DISPATCH(kernels::to_steps)
  (address(x), middle, std::isfinite(per_half) ? per_half : 0.0F, out.data(), x.size());
}

void HostKernels::add_steps(kernels::ConstCodes q, float middle, float step, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::add_steps)(q.data(), middle, step, address(y), y.size());
}

void HostKernels::to_signs(ConstFloatView x, kernels::Codes out) const {
  HWY_DYNAMIC_DISPATCH(kernels::to_signs)(address(x), out.data(), x.size());
}

void HostKernels::add_signs(kernels::ConstCodes bits, float scale, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::add_signs)(bits.data(), scale, address(y), y.size());
}

void HostKernels::to_levels(ConstFloatView x, const kernels::Levels& levels, kernels::Draws draws,
                            kernels::Codes out) const {
  HWY_DYNAMIC_DISPATCH(kernels::to_levels)(address(x), x.size(), levels, draws, out.data());
}

void HostKernels::add_levels(kernels::ConstCodes codes, const kernels::Levels& levels, FloatView y) const {
  HWY_DYNAMIC_DISPATCH(kernels::add_levels)(codes.data(), levels, address(y), y.size());
}

}  // namespace tacit
#endif  // HWY_ONCE
