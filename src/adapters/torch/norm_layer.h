// SPDX-License-Identifier: MIT
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/normalization.h>

#include "adapters/torch/nets.h"

namespace tacit::torch {

// Batch or group norm behind one name.
class NormLayer final : public ::torch::nn::Module {
 public:
  NormLayer(Norm kind, int channels) {
    if (kind == Norm::kBatch) batch_ = register_module("batch", ::torch::nn::BatchNorm2d(channels));
    if (kind == Norm::kGroup)
      group_ =
          register_module("group", ::torch::nn::GroupNorm(::torch::nn::GroupNormOptions(kGroups, channels)));
  }
  ::torch::Tensor forward(const ::torch::Tensor& x) { return batch_ ? batch_(x) : group_(x); }

 private:
  static constexpr int kGroups = 8;
  ::torch::nn::BatchNorm2d batch_{nullptr};
  ::torch::nn::GroupNorm group_{nullptr};
};

}  // namespace tacit::torch
