// SPDX-License-Identifier: MIT
#include "adapters/torch/nets.h"

#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/pooling.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "adapters/torch/norm_layer.h"

namespace tacit::torch {
namespace {

namespace nn = ::torch::nn;
namespace F = ::torch::nn::functional;
using ::torch::Tensor;

nn::Conv2d conv3x3(int in, int out, int stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
}

// Two 5x5 convolutions with pooling and one linear layer: no state beside the weights and no dropout, so that
// what a step computes depends on the global batch alone.
class Cnn final : public Net {
 public:
  explicit Cnn(const ModelContext& c)
      : conv1_(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(c.input.channels, 16, 5).padding(2)))),
        conv2_(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(16, 32, 5).padding(2)))),
        linear_(register_module("linear",
                                nn::Linear(32 * (c.input.height / 4) * (c.input.width / 4), c.classes))) {}

  Tensor forward(Tensor x) override {
    x = F::max_pool2d(conv1_(x), F::MaxPool2dFuncOptions(2)).relu_();
    x = F::max_pool2d(conv2_(x), F::MaxPool2dFuncOptions(2)).relu_();
    return linear_(x.flatten(1));
  }

 private:
  nn::Conv2d conv1_;
  nn::Conv2d conv2_;
  nn::Linear linear_;
};

// He et al. 2016, figure 2, with option A shortcuts: subsample and pad with zero channels, no weights.
class Residual final : public nn::Module {
 public:
  Residual(int in, int out, int stride, Norm norm)
      : stride_(stride),
        grow_(out - in),
        conv1_(register_module("conv1", conv3x3(in, out, stride))),
        norm1_(register_module("norm1", std::make_shared<NormLayer>(norm, out))),
        conv2_(register_module("conv2", conv3x3(out, out, 1))),
        norm2_(register_module("norm2", std::make_shared<NormLayer>(norm, out))) {}

  Tensor forward(const Tensor& x) {
    Tensor y = norm1_->forward(conv1_(x)).relu_();
    y = norm2_->forward(conv2_(y));
    return (y + shortcut(x)).relu_();
  }

 private:
  Tensor shortcut(const Tensor& x) const {
    if (grow_ == 0) return x;
    const Tensor small = x.slice(2, 0, ::torch::nullopt, stride_).slice(3, 0, ::torch::nullopt, stride_);
    return ::torch::constant_pad_nd(small, {0, 0, 0, 0, grow_ / 2, grow_ - grow_ / 2});
  }

  const int stride_;
  const int grow_;
  nn::Conv2d conv1_;
  std::shared_ptr<NormLayer> norm1_;
  nn::Conv2d conv2_;
  std::shared_ptr<NormLayer> norm2_;
};

class SmallResNet final : public Net {
 public:
  SmallResNet(const ModelContext& c, int blocks, Norm norm)
      : stem_(register_module("stem", conv3x3(c.input.channels, 16, 1))),
        norm_(register_module("norm", std::make_shared<NormLayer>(norm, 16))),
        linear_(register_module("linear", nn::Linear(64, c.classes))) {
    int in = 16;
    for (const int out : {16, 32, 64}) {
      for (int i = 0; i < blocks; ++i) {
        const int stride = i == 0 && out > 16 ? 2 : 1;
        blocks_.push_back(register_module("block" + std::to_string(blocks_.size()),
                                          std::make_shared<Residual>(in, out, stride, norm)));
        in = out;
      }
    }
  }

  Tensor forward(Tensor x) override {
    x = norm_->forward(stem_(x)).relu_();
    for (const auto& block : blocks_) x = block->forward(x);
    return linear_(x.mean({2, 3}));
  }

 private:
  nn::Conv2d stem_;
  std::shared_ptr<NormLayer> norm_;
  std::vector<std::shared_ptr<Residual>> blocks_;
  nn::Linear linear_;
};

}  // namespace

std::shared_ptr<Net> make_cnn(const ModelContext& context) { return std::make_shared<Cnn>(context); }

std::shared_ptr<Net> make_small_resnet(const ModelContext& context, int blocks, Norm norm) {
  return std::make_shared<SmallResNet>(context, blocks, norm);
}

}  // namespace tacit::torch
