// SPDX-License-Identifier: MIT
// A worker whose weights and gradients a test sets by hand.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tacit/core/kernels.h"
#include "tacit/train/replica_worker.h"
#include "train/optimizer.h"

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

  using Worker::lr;
  float lr(std::int64_t) const override { return lr_; }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }
  using Worker::apply;
  void apply(ConstFloatView g, FloatView x) override { kernels::axpy(-lr_, g, x); }
  OptimizerState& optimizer() override { return *optimizer_; }
  std::unique_ptr<Optimizer> new_optimizer() const override { return optimizer_->fresh(); }
  std::span<const Slice> tensors() const override { return whole_; }
  std::span<const FloatView> buffers() override { return {}; }

 private:
  std::vector<float> params_;
  std::vector<float> gradient_;
  const float lr_;
  const std::array<Slice, 1> whole_;
  const std::unique_ptr<Optimizer> optimizer_ = make_optimizer("sgd");  // which has no state
};

}  // namespace tacit::test
