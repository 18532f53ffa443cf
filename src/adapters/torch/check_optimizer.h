// SPDX-License-Identifier: MIT
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

namespace tacit::torch {

// Throws InvalidConfig, with its name, for an optimiser that cannot step once per gradient, such as LBFGS, and for one
// with parameters that are not the module's: nobody would keep those together.
void check_optimizer(const ::torch::optim::Optimizer& optimizer, const ::torch::nn::Module& module);

// How many parameters it has, in all groups.
std::size_t parameters_of(const ::torch::optim::Optimizer& optimizer);

}  // namespace tacit::torch
