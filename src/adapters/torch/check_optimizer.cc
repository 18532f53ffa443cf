// SPDX-License-Identifier: MIT
#include "adapters/torch/check_optimizer.h"

#include <torch/optim/lbfgs.h>

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "adapters/torch/optimizer_name.h"
#include "tacit/core/error.h"

namespace tacit::torch {

void check_optimizer(const ::torch::optim::Optimizer& optimizer, const ::torch::nn::Module& module) {
  if (dynamic_cast<const ::torch::optim::LBFGS*>(&optimizer) != nullptr)
    throw InvalidConfig(
        name_of(optimizer) +
        " needs a closure that computes the loss again within a step, and ranks exchange one gradient "
        "per step; use torch::optim::SGD, Adam, AdamW, RMSprop or Adagrad");
  std::unordered_set<const void*> known;
  for (const auto& p : module.parameters()) known.insert(p.unsafeGetTensorImpl());
  for (const auto& group : optimizer.param_groups())
    for (const auto& p : group.params()) {
      if (known.contains(p.unsafeGetTensorImpl())) continue;
      std::ostringstream shape;
      shape << p.sizes();
      throw InvalidConfig(
          name_of(optimizer) + " has a parameter of shape " + shape.str() +
          " that is not the module's, and every rank would train it for itself; make one module of "
          "all that it trains, or an optimiser and a Replicated for each");
    }
}

std::size_t parameters_of(const ::torch::optim::Optimizer& optimizer) {
  std::size_t count = 0;
  for (const auto& group : optimizer.param_groups()) count += group.params().size();
  return count;
}

}  // namespace tacit::torch
