// SPDX-License-Identifier: MIT
// The networks, as torch modules.
#pragma once

#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/modulelist.h>

#include <memory>

#include "tacit/train/model.h"

namespace tacit::torch {

// A module that turns images into scores.
class Net : public ::torch::nn::Module {
 public:
  virtual ::torch::Tensor forward(::torch::Tensor images) = 0;
};

enum class Norm { kBatch, kGroup };

std::shared_ptr<Net> make_cnn(const ModelContext& context);
// CIFAR-style: a stem, three stages of `blocks` residual blocks with 16, 32 and 64 channels, 6 blocks + 2
// layers.
std::shared_ptr<Net> make_small_resnet(const ModelContext& context, int blocks, Norm norm);
// For images as ImageNet has them, of 18 or 50 layers.
std::shared_ptr<Net> make_resnet(const ModelContext& context, int depth, Norm norm);

}  // namespace tacit::torch
