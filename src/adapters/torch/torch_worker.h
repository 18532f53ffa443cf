// SPDX-License-Identifier: MIT
// A Worker over a module and a LibTorch optimiser.
#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/inner_step.h"
#include "tacit/torch/flat_module.h"
#include "tacit/train/replica_worker.h"
#include "tacit/train/time_account.h"

namespace tacit::torch {

// Lifetime  all that it is given must outlive it.
class TorchWorker final : public ReplicaWorker {
 public:
  struct Parts {
    FlatModule& flat;
    ::torch::optim::Optimizer& optimizer;
    InnerStep& inner;
    TimeAccount& times;
    std::string strategy;                // as its user wrote it
    std::function<void()> before_apply;  // may be empty
  };
  TorchWorker(Process& process, std::uint64_t seed, Parts parts)
      : ReplicaWorker(process, seed), parts_(std::move(parts)) {}

  float lr() const override {
    return static_cast<float>(parts_.optimizer.param_groups().at(0).options().get_lr());
  }
  FloatView params() override { return parts_.flat.params(); }
  FloatView gradient() override { return parts_.flat.gradient(); }
  void apply(ConstFloatView g) override;
  std::unique_ptr<Optimizer> new_optimizer() const override;
  std::span<const Slice> tensors() const override { return parts_.flat.tensors(); }
  std::span<const std::size_t> rows() const override { return parts_.flat.rows(); }
  std::span<const FloatView> buffers() override { return parts_.flat.buffers(); }

  // From now on apply() leaves its gradient in gradient() and does no more.
  void put_off(bool whether) { put_off_ = whether; }
  // What apply() does with the gradient in gradient(): the user's function, then the optimiser.
  void apply_gradient();

  // The learning rates of the optimiser's groups.
  std::vector<double> rates() const;
  void set_rates(const std::vector<double>& rates);

 private:
  const Parts parts_;
  bool put_off_ = false;
};

}  // namespace tacit::torch
