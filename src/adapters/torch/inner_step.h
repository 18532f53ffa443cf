// SPDX-License-Identifier: MIT
// A LibTorch optimiser's step with its momentum where it belongs (means/momentum_place.h).
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <string>

#include "tacit/strategy/optimizer.h"

namespace tacit::torch {

// LibTorch's SGD cannot say whether nesterov(false) was wanted or left alone; it counts as not said.
//
// Lifetime  the optimiser must outlive it.
// Errors    InvalidConfig, with the optimiser's name, for a momentum that cannot be where it belongs: that of an SGD
//           with a dampening, with groups of parameters that differ in it, with a later change, or of a derived class.
class InnerStep {
 public:
  InnerStep(::torch::optim::Optimizer& optimizer, const std::string& compress);

  // Puts its momentum where the rule says, before the first step; returns that which goes in front of the compressor.
  double place(const MomentumRule& rule);
  // What is left to the optimiser, on flat arrays.
  std::unique_ptr<Optimizer> flat() const;
  // Whether a momentum is left to the optimiser; only SGD is asked.
  bool has_momentum() const;
  // Steps with what is left to the optimiser. Before and after, its settings are those of its user.
  void operator()();

 private:
  ::torch::optim::Optimizer& optimizer_;
  MomentumPlace place_ = MomentumPlace::kInside;
  double momentum_ = 0;  // where it went in front
};

}  // namespace tacit::torch
