// SPDX-License-Identifier: MIT
// A worker whose weights and gradients a test sets by hand.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tacit/core/kernels.h"
#include "tacit/train/optimizer.h"
#include "tacit/train/replica_worker.h"

namespace tacit::test {

// apply is x <- x - lr g.
class PlainWorker final : public ReplicaWorker {
 public:
  PlainWorker(Process& process, std::vector<float> params, float lr = 1, std::uint64_t seed = 1)
      : ReplicaWorker(process, seed),
        params_(std::move(params)),
        gradient_(params_.size()),
        lr_(lr),
        whole_{Slice{0, params_.size()}} {}

  float lr() const override { return lr_; }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }
  void apply(ConstFloatView g) override { kernels::axpy(-lr_, g, params_); }
  std::unique_ptr<Optimizer> new_optimizer() const override { return make_optimizer("sgd"); }
  std::span<const Slice> tensors() const override { return whole_; }
  std::span<const FloatView> buffers() override { return {}; }

 private:
  std::vector<float> params_;
  std::vector<float> gradient_;
  const float lr_;
  const std::array<Slice, 1> whole_;
};

}  // namespace tacit::test
