// SPDX-License-Identifier: MIT
// What every rank of a Replicated must have alike.
#pragma once

#include <string_view>
#include <vector>

#include "tacit/torch/replicated.h"
#include "tacit/world/agreement.h"

namespace tacit::torch {

// By the names that a user of Replicated knows. Each tensor of the module stands for itself, so that the first that
// differs is named.
std::vector<Setting> settings_of(const ::torch::nn::Module& module,
                                 const ::torch::optim::Optimizer& optimizer, std::string_view strategy,
                                 const Replicated::Options& options);

}  // namespace tacit::torch
