// SPDX-License-Identifier: MIT
// The kernels of the host, with the best SIMD of the CPU at run time. Written in host_kernels.cc, host_pack_kernels.cc
// and host_select_kernels.cc.
#pragma once

#include "core/kernel_table.h"

namespace tacit {

class HostKernels final : public Kernels {
 public:
  void fill(float a, FloatView y) const override;
  void sum(ConstFloatView a, ConstFloatView b, FloatView out) const override;
  void difference(ConstFloatView a, ConstFloatView b, FloatView out) const override;
  void scale(float a, FloatView y) const override;
  void multiply(ConstFloatView x, FloatView y) const override;
  void axpy(float a, ConstFloatView x, FloatView y) const override;
  void axpby(float a, ConstFloatView x, float b, FloatView y) const override;
  void average(ConstFloatView x, FloatView y) const override;
  void sum_all(std::span<const ConstFloatView> all, float factor, FloatView out) const override;

  double dot(ConstFloatView x, ConstFloatView y) const override;
  double sum_of(ConstFloatView x) const override;
  double norm1(ConstFloatView x) const override;
  double distance2(ConstFloatView x, ConstFloatView y) const override;
  float max_abs(ConstFloatView x) const override;

  void sgd_step(const kernels::SgdStep& s, ConstFloatView gradient, FloatView velocity,
                FloatView params) const override;
  void adam_step(const kernels::AdamStep& s, ConstFloatView gradient, FloatView first, FloatView second,
                 FloatView params) const override;

  void to_fp16(ConstFloatView x, std::span<std::uint16_t> out) const override;
  void to_bf16(ConstFloatView x, std::span<std::uint16_t> out) const override;
  void add_fp16(std::span<const std::uint16_t> x, float factor, FloatView y) const override;
  void add_bf16(std::span<const std::uint16_t> x, float factor, FloatView y) const override;
  kernels::Range range_of(ConstFloatView x) const override;
  void to_steps(ConstFloatView x, float middle, float step, kernels::Codes out) const override;
  void add_steps(kernels::ConstCodes q, float middle, float step, FloatView y) const override;
  void to_signs(ConstFloatView x, kernels::Codes out) const override;
  void add_signs(kernels::ConstCodes bits, float scale, FloatView y) const override;
  void to_levels(ConstFloatView x, const kernels::Levels& levels, kernels::Draws draws,
                 kernels::Codes out) const override;
  void add_levels(kernels::ConstCodes codes, const kernels::Levels& levels, FloatView y) const override;
  std::size_t find_between(ConstFloatView x, std::uint32_t lo, std::uint32_t hi,
                           std::span<std::uint32_t> out) const override;
  float add_scaled(ConstFloatView x, float a, ConstFloatView e, FloatView out) const override;
  void clear_where(ConstFloatView x, FloatView y) const override;
  void rows_times(ConstFloatView a, ConstFloatView v, FloatView out) const override;
};

extern const HostKernels kHostKernels;

}  // namespace tacit
