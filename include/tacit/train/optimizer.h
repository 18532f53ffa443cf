// SPDX-License-Identifier: MIT
// Inner optimisers on flat arrays, with LibTorch's definitions and defaults.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/registry.h"
#include "tacit/core/views.h"

namespace tacit {

// Threads  one at a time. One optimiser belongs to one replica, or to one slice of it.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(ConstFloatView gradient, float lr, FloatView params) = 0;
};

struct OptimizerInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::function<std::unique_ptr<Optimizer>(OptionReader&)> make;
};

const Registry<OptimizerInfo>& builtin_optimizers();

// `sgd:momentum=0.9,nesterov,weight_decay=1e-4`, `adam:beta1=0.9`, `adamw`. Throws InvalidConfig.
std::unique_ptr<Optimizer> make_optimizer(std::string_view spec);

}  // namespace tacit
