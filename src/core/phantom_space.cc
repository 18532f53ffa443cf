// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdint>
#include <string>

#include "core/kernel_table.h"
#include "tacit/core/error.h"
#include "tacit/core/space.h"

namespace tacit {
namespace {

// There is nothing to compute with.
class PhantomKernels final : public Kernels {
 public:
  void fill(float, FloatView) const override {}
  void sum(ConstFloatView, ConstFloatView, FloatView) const override {}
  void difference(ConstFloatView, ConstFloatView, FloatView) const override {}
  void scale(float, FloatView) const override {}
  void multiply(ConstFloatView, FloatView) const override {}
  void axpy(float, ConstFloatView, FloatView) const override {}
  void axpby(float, ConstFloatView, float, FloatView) const override {}
  void average(ConstFloatView, FloatView) const override {}
  void sum_all(std::span<const ConstFloatView>, float, FloatView) const override {}
  double dot(ConstFloatView, ConstFloatView) const override { return 0; }
  double sum_of(ConstFloatView) const override { return 0; }
  double norm1(ConstFloatView) const override { return 0; }
  double distance2(ConstFloatView, ConstFloatView) const override { return 0; }
  float max_abs(ConstFloatView) const override { return 0; }
  void sgd_step(const kernels::SgdStep&, ConstFloatView, FloatView, FloatView) const override {}
  void adam_step(const kernels::AdamStep&, ConstFloatView, FloatView, FloatView, FloatView) const override {}
  void to_fp16(ConstFloatView, std::span<std::uint16_t>) const override {}
  void to_bf16(ConstFloatView, std::span<std::uint16_t>) const override {}
  void add_fp16(std::span<const std::uint16_t>, float, FloatView) const override {}
  void add_bf16(std::span<const std::uint16_t>, float, FloatView) const override {}
  kernels::Range range_of(ConstFloatView) const override { return {}; }
  void to_steps(ConstFloatView, float, float, kernels::Codes) const override {}
  void add_steps(kernels::ConstCodes, float, float, FloatView) const override {}
  void to_signs(ConstFloatView, kernels::Codes) const override {}
  void add_signs(kernels::ConstCodes, float, FloatView) const override {}
  void to_levels(ConstFloatView, const kernels::Levels&, kernels::Draws, kernels::Codes) const override {}
  void add_levels(kernels::ConstCodes, const kernels::Levels&, FloatView) const override {}
  std::size_t find_between(ConstFloatView, std::uint32_t, std::uint32_t,
                           std::span<std::uint32_t>) const override {
    return 0;
  }
  float add_scaled(ConstFloatView, float, ConstFloatView, FloatView) const override { return 0; }
  void clear_where(ConstFloatView, FloatView) const override {}
  void rows_times(ConstFloatView, ConstFloatView, FloatView) const override {}
};

// Blocks have addresses of their own, so that is() tells them from each other, in the half of the addresses that
// has_content() knows.
class PhantomSpace final : public Space {
 public:
  std::string_view name() const override { return "phantom"; }
  Block allocate(std::size_t floats) override {
    if (floats > FloatView::kMostFloats)
      throw InvalidConfig("there are no addresses for " + std::to_string(floats) +
                          " parameters; ask for fewer");
    const std::uintptr_t place = next_.fetch_add(floats * sizeof(float), std::memory_order_relaxed);
    // Around again after 2^50 bytes: what was there is long gone.
    const std::uintptr_t at = kFirst + place % (FloatView::kMostFloats * sizeof(float));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nobody will follow it
    return block(view({reinterpret_cast<float*>(at), floats}));
  }
  const Kernels& kernels() const override { return kernels_; }
  void copy(ConstFloatView, FloatView) override {}
  void wait() override {}
  Bytes wire(FloatView x) override { return {reinterpret_cast<std::byte*>(address(x)), x.size_bytes()}; }

 private:
  void release(FloatView) noexcept override {}

  static constexpr std::uintptr_t kFirst = std::uintptr_t{1} << 63U;
  std::atomic<std::uintptr_t> next_ = 0;
  const PhantomKernels kernels_{};
};

}  // namespace

Space& phantom_space() {
  static PhantomSpace space;
  return space;
}

}  // namespace tacit
