// SPDX-License-Identifier: MIT
// LibTorch models for the trainer. No Torch header is needed to use them.
#pragma once

#include "tacit/train/model.h"

namespace tacit::torch {

// Adds those of model_cards.h. Every rank computes with so many threads.
void add_models(ModelRegistry& registry, int threads_per_rank);

}  // namespace tacit::torch
