// SPDX-License-Identifier: MIT
// K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, arXiv:1512.03385, table
// 1, with projections where the shape changes (option B).
//
// Differs  bottlenecks take their stride in the 3x3 convolution, where it skips no position, and not in the first 1x1:
//          as most programs have it, and with as many weights.
#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/pooling.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "adapters/torch/nets.h"
#include "adapters/torch/norm_layer.h"
#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

namespace nn = ::torch::nn;
namespace F = ::torch::nn::functional;
using ::torch::Tensor;

constexpr int kStem = 64;  // channels

// A convolution that keeps the extent, but for its stride, and its norm.
class NormedConv final : public nn::Module {
 public:
  NormedConv(int in, int out, int kernel, int stride, Norm norm)
      : conv_(register_module(
            "conv",
            nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false)))),
        norm_(register_module("norm", std::make_shared<NormLayer>(norm, out))) {
    nn::init::kaiming_normal_(conv_->weight, 0, ::torch::kFanOut, ::torch::kReLU);
  }
  Tensor forward(const Tensor& x) { return norm_->forward(conv_(x)); }

 private:
  nn::Conv2d conv_;
  std::shared_ptr<NormLayer> norm_;
};

struct BlockShape {
  int in = 0;
  int inner = 0;
  int out = 0;
  int stride = 1;
};

// Two 3x3 convolutions, or a 3x3 between two 1x1 where the block is a bottleneck; and what came in on top.
class ResidualBlock final : public nn::Module {
 public:
  ResidualBlock(const BlockShape& s, bool bottleneck, Norm norm) {
    if (bottleneck) {
      add("conv1", s.in, s.inner, 1, 1, norm);
      add("conv2", s.inner, s.inner, 3, s.stride, norm);
      add("conv3", s.inner, s.out, 1, 1, norm);
    } else {
      add("conv1", s.in, s.inner, 3, s.stride, norm);
      add("conv2", s.inner, s.out, 3, 1, norm);
    }
    if (s.in != s.out || s.stride != 1)
      projection_ =
          register_module("projection", std::make_shared<NormedConv>(s.in, s.out, 1, s.stride, norm));
  }

  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (std::size_t i = 0; i < convs_.size(); ++i) {
      y = convs_[i]->forward(y);
      if (i + 1 < convs_.size()) y = y.relu_();
    }
    return (y + (projection_ ? projection_->forward(x) : x)).relu_();
  }

 private:
  template <class... Shape>
  void add(const char* name, Shape... shape) {
    convs_.push_back(register_module(name, std::make_shared<NormedConv>(shape...)));
  }

  std::vector<std::shared_ptr<NormedConv>> convs_;
  std::shared_ptr<NormedConv> projection_;
};

struct Depth {
  std::array<int, 4> blocks;  // of each stage
  bool bottleneck;
};

Depth depth_of(int layers) {
  TACIT_CHECK(layers == 18 || layers == 50, "a residual network for large images has 18 or 50 layers");
  return layers == 18 ? Depth{{2, 2, 2, 2}, false} : Depth{{3, 4, 6, 3}, true};
}

class ResNet final : public Net {
 public:
  ResNet(const ModelContext& c, const Depth& depth, Norm norm)
      : stem_(register_module("stem", std::make_shared<NormedConv>(c.input.channels, kStem, 7, 2, norm))) {
    const int widening = depth.bottleneck ? 4 : 1;
    int in = kStem;
    int inner = kStem;
    for (const int blocks : depth.blocks) {
      for (int i = 0; i < blocks; ++i) {
        const BlockShape shape{in, inner, inner * widening, i == 0 && inner > kStem ? 2 : 1};
        blocks_.push_back(register_module("block" + std::to_string(blocks_.size()),
                                          std::make_shared<ResidualBlock>(shape, depth.bottleneck, norm)));
        in = shape.out;
      }
      inner *= 2;
    }
    linear_ = register_module("linear", nn::Linear(in, c.classes));
  }

  Tensor forward(Tensor x) override {
    x = stem_->forward(x).relu_();
    x = F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1));
    for (const auto& block : blocks_) x = block->forward(x);
    return linear_(x.mean({2, 3}));
  }

 private:
  std::shared_ptr<NormedConv> stem_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
  nn::Linear linear_{nullptr};
};

}  // namespace

std::shared_ptr<Net> make_resnet(const ModelContext& context, int depth, Norm norm) {
  return std::make_shared<ResNet>(context, depth_of(depth), norm);
}

}  // namespace tacit::torch
