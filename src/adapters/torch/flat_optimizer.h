// SPDX-License-Identifier: MIT
// LibTorch's optimisers on flat arrays: for strategies that update weights elsewhere than in the module.
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>

#include "train/optimizer.h"

namespace tacit::torch {

// One with the settings of an SGD, Adam or AdamW and no memory. Throws InvalidConfig, with its name, for another kind,
// and for settings that the flat one does not have.
std::unique_ptr<Optimizer> flat_optimizer(const ::torch::optim::Optimizer& like);

}  // namespace tacit::torch
