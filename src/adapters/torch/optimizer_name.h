// SPDX-License-Identifier: MIT
#pragma once

#include <torch/optim/optimizer.h>

#include <string>

namespace tacit::torch {

// As its user knows it: "torch::optim::LBFGS".
std::string name_of(const ::torch::optim::Optimizer& optimizer);

}  // namespace tacit::torch
