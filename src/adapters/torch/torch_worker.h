// SPDX-License-Identifier: MIT
// A Worker over a module and a LibTorch optimiser.
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/flat_module.h"
#include "adapters/torch/flat_state.h"
#include "adapters/torch/inner_step.h"
#include "adapters/torch/overlap.h"
#include "tacit/torch/replicated.h"
#include "tacit/train/replica_worker.h"
#include "train/time_account.h"

namespace tacit::torch {

// Lifetime  all that it is given must outlive it.
class TorchWorker final : public ReplicaWorker {
 public:
  struct Parts {
    FlatModule& flat;
    ::torch::optim::Optimizer& optimizer;
    InnerStep& inner;
    TimeAccount& times;
    std::string strategy;  // as its user wrote it
    const Replicated::Options& options;
  };
  TorchWorker(Process& process, Parts parts)
      : ReplicaWorker(process, parts.options.seed),
        parts_(std::move(parts)),
        state_(parts_.flat, parts_.optimizer, parts_.inner) {}

  std::int64_t total() const override { return parts_.options.total; }
  using Worker::lr;
  float lr(std::int64_t t) const override;
  FloatView params() override { return parts_.flat.params(); }
  FloatView gradient() override {
    return overlap_ != nullptr ? overlap_->gradient() : parts_.flat.gradient();
  }
  double loss() const override { return loss_; }
  using Worker::apply;
  void apply(ConstFloatView g, FloatView x) override;
  OptimizerState& optimizer() override { return state_; }
  std::unique_ptr<Optimizer> new_optimizer() const override;
  std::span<const Slice> tensors() const override { return parts_.flat.tensors(); }
  std::span<const std::size_t> rows() const override { return parts_.flat.rows(); }
  std::span<const FloatView> buffers() override { return parts_.flat.buffers(); }

  // What the loop says of the mini-batch whose gradient is there.
  void set_loss(std::optional<double> loss) {
    loss_ = loss.value_or(std::numeric_limits<double>::quiet_NaN());
  }

  // Whose gradient() is what strategies see, from now on. It must outlive this worker.
  void exchange_by(Overlap& overlap) { overlap_ = &overlap; }

  // From now on apply() leaves its gradient in the module and does no more.
  void put_off(bool whether) { put_off_ = whether; }
  // What apply() does with the gradient in the module: the user's function, then the optimiser.
  void apply_gradient();

  // The learning rates of the optimiser's groups.
  std::vector<double> rates() const;
  void set_rates(const std::vector<double>& rates);

 private:
  void compute_again(std::optional<std::int64_t> piece) override;
  double place_momentum(const MomentumRule& rule) override { return parts_.inner.place(rule); }

  const Parts parts_;
  FlatState state_;
  double loss_ = std::numeric_limits<double>::quiet_NaN();
  bool put_off_ = false;
  Overlap* overlap_ = nullptr;
};

}  // namespace tacit::torch
