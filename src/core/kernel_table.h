// SPDX-License-Identifier: MIT
// The kernels of one space, for those who write a space. Everybody else calls kernels.h and pack_kernels.h, which check
// sizes and spaces and then come here.
#pragma once

#include <cstdint>
#include <span>

#include "core/pack_kernels.h"
#include "tacit/core/kernels.h"
#include "tacit/core/space.h"

namespace tacit {

// What each one does is said in kernels.h and pack_kernels.h, under the same name.
//
// Threads  any.
class Kernels : protected FloatAccess {
 public:
  Kernels() = default;
  virtual ~Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  virtual void fill(float a, FloatView y) const = 0;
  virtual void sum(ConstFloatView a, ConstFloatView b, FloatView out) const = 0;
  virtual void difference(ConstFloatView a, ConstFloatView b, FloatView out) const = 0;
  virtual void scale(float a, FloatView y) const = 0;
  virtual void multiply(ConstFloatView x, FloatView y) const = 0;
  virtual void axpy(float a, ConstFloatView x, FloatView y) const = 0;
  virtual void axpby(float a, ConstFloatView x, float b, FloatView y) const = 0;
  virtual void average(ConstFloatView x, FloatView y) const = 0;
  virtual void sum_all(std::span<const ConstFloatView> all, float factor, FloatView out) const = 0;

  virtual double dot(ConstFloatView x, ConstFloatView y) const = 0;
  virtual double sum_of(ConstFloatView x) const = 0;
  virtual double norm1(ConstFloatView x) const = 0;
  virtual double distance2(ConstFloatView x, ConstFloatView y) const = 0;
  virtual float max_abs(ConstFloatView x) const = 0;

  virtual void sgd_step(const kernels::SgdStep& s, ConstFloatView gradient, FloatView velocity,
                        FloatView params) const = 0;
  virtual void adam_step(const kernels::AdamStep& s, ConstFloatView gradient, FloatView first,
                         FloatView second, FloatView params) const = 0;

  virtual void to_fp16(ConstFloatView x, std::span<std::uint16_t> out) const = 0;
  virtual void to_bf16(ConstFloatView x, std::span<std::uint16_t> out) const = 0;
  virtual void add_fp16(std::span<const std::uint16_t> x, float factor, FloatView y) const = 0;
  virtual void add_bf16(std::span<const std::uint16_t> x, float factor, FloatView y) const = 0;
  virtual kernels::Range range_of(ConstFloatView x) const = 0;
  virtual void to_steps(ConstFloatView x, float middle, float step, kernels::Codes out) const = 0;
  virtual void add_steps(kernels::ConstCodes q, float middle, float step, FloatView y) const = 0;
  virtual void to_signs(ConstFloatView x, kernels::Codes out) const = 0;
  virtual void add_signs(kernels::ConstCodes bits, float scale, FloatView y) const = 0;
  virtual void to_levels(ConstFloatView x, const kernels::Levels& levels, kernels::Draws draws,
                         kernels::Codes out) const = 0;
  virtual void add_levels(kernels::ConstCodes codes, const kernels::Levels& levels, FloatView y) const = 0;
  virtual std::size_t find_between(ConstFloatView x, std::uint32_t lo, std::uint32_t hi,
                                   std::span<std::uint32_t> out) const = 0;
  virtual float add_scaled(ConstFloatView x, float a, ConstFloatView e, FloatView out) const = 0;
  virtual void clear_where(ConstFloatView x, FloatView y) const = 0;
  virtual void rows_times(ConstFloatView a, ConstFloatView v, FloatView out) const = 0;
};

}  // namespace tacit
