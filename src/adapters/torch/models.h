// SPDX-License-Identifier: MIT
// LibTorch models for the trainer. No Torch header is needed to use them.
#pragma once

#include "tacit/train/model.h"

namespace tacit::torch {

// Adds cnn, resnet8, resnet20 and resnet56. Every rank computes with so many threads.
void add_models(ModelRegistry& registry, int threads_per_rank);

}  // namespace tacit::torch
