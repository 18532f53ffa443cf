// SPDX-License-Identifier: MIT
// Inner optimisers on flat arrays, with LibTorch's definitions and defaults.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/registry.h"
#include "tacit/strategy/optimizer.h"

namespace tacit {

struct OptimizerInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::string example;  // as a user writes it
  std::function<std::unique_ptr<Optimizer>(OptionReader&)> make;
};

const Registry<OptimizerInfo>& builtin_optimizers();

// `sgd:momentum=0.9,nesterov,weight_decay=1e-4`, `adam:beta1=0.9`, `adamw`. Throws InvalidConfig.
std::unique_ptr<Optimizer> make_optimizer(std::string_view spec);

}  // namespace tacit
