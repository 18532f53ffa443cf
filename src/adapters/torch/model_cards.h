// SPDX-License-Identifier: MIT
// What there is to know of LibTorch's models without LibTorch: the program lists them before it loads anything of it.
#pragma once

#include <array>

namespace tacit::torch {

enum class Family { kCnn, kSmallResidual, kResidual };

struct ModelCard {
  const char* name;
  Family family;
  int depth;  // of a residual network
  const char* summary;
  const char* paper;
  const char* example;
};

inline constexpr std::array<ModelCard, 6> kModelCards{{
    {"cnn", Family::kCnn, 0, "two 5x5 convolutions with pooling and a linear layer",
     "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998", "cnn"},
    {"resnet8", Family::kSmallResidual, 8, "CIFAR-style residual network of 8 layers", "arXiv:1512.03385",
     "resnet8:norm=group"},
    {"resnet20", Family::kSmallResidual, 20, "CIFAR-style residual network of 20 layers", "arXiv:1512.03385",
     "resnet20:norm=group"},
    {"resnet56", Family::kSmallResidual, 56, "CIFAR-style residual network of 56 layers", "arXiv:1512.03385",
     "resnet56:norm=group"},
    {"resnet18", Family::kResidual, 18, "residual network of 18 layers for images of 64 pixels and more",
     "arXiv:1512.03385", "resnet18:norm=group"},
    {"resnet50", Family::kResidual, 50, "residual network of 50 layers, with bottlenecks, for the same",
     "arXiv:1512.03385", "resnet50:norm=group"},
}};

}  // namespace tacit::torch
