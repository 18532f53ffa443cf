// SPDX-License-Identifier: MIT
// What a LibTorch optimiser remembers, as flat vectors.
#pragma once

#include <torch/optim/optimizer.h>

#include <span>
#include <string>
#include <vector>

#include "adapters/torch/flat_module.h"
#include "adapters/torch/inner_step.h"
#include "tacit/strategy/optimizer.h"

namespace tacit::torch {

// The momentum of an SGD, the moments of Adam and AdamW; of other kinds nothing but reset(). LibTorch keeps a tensor
// per parameter, made at its first step; state() points those into flat memory, where the optimiser then works, so that
// who writes into a view changes what the optimiser remembers. torch::load of the optimiser gives it other tensors:
// their values are taken over at the next state().
//
// Lifetime  all that it is given must outlive it.
class FlatState final : public OptimizerState {
 public:
  FlatState(FlatModule& flat, ::torch::optim::Optimizer& optimizer, const InnerStep& inner)
      : flat_(flat), optimizer_(optimizer), inner_(inner) {}

  std::vector<NamedView> state() override;
  void reset() override;

 private:
  FlatModule& flat_;
  ::torch::optim::Optimizer& optimizer_;
  const InnerStep& inner_;
  std::vector<::torch::Tensor> vectors_;  // one per name, in the order of state()
};

}  // namespace tacit::torch
