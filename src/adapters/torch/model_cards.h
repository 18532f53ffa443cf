// SPDX-License-Identifier: MIT
// What there is to know of LibTorch's models without LibTorch: the program lists them before it loads anything of it.
#pragma once

#include <array>

namespace tacit::torch {

struct ModelCard {
  const char* name;
  int depth;  // of a residual network; 0 for the network that is none
  const char* summary;
  const char* paper;
  const char* example;
};

inline constexpr std::array<ModelCard, 4> kModelCards{{
    {"cnn", 0, "two 5x5 convolutions with pooling and a linear layer",
     "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998", "cnn"},
    {"resnet8", 8, "CIFAR-style residual network of 8 layers", "arXiv:1512.03385", "resnet8:norm=group"},
    {"resnet20", 20, "CIFAR-style residual network of 20 layers", "arXiv:1512.03385", "resnet20:norm=group"},
    {"resnet56", 56, "CIFAR-style residual network of 56 layers", "arXiv:1512.03385", "resnet56:norm=group"},
}};

}  // namespace tacit::torch
