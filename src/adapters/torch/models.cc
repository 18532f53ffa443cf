// SPDX-License-Identifier: MIT
#include "adapters/torch/models.h"

#include <ATen/Parallel.h>
#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "adapters/torch/flat_module.h"
#include "adapters/torch/gradient_hooks.h"
#include "adapters/torch/model_cards.h"
#include "adapters/torch/nets.h"
#include "core/mutex.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit::torch {
namespace {

using ::torch::Tensor;

class TorchModel final : public Model {
 public:
  explicit TorchModel(std::shared_ptr<Net> net)
      : net_(std::move(net)), flat_(*net_), hooks_(flat_, [this](std::size_t tensor) {
          if (ready_ != nullptr) (*ready_)(flat_.tensors()[tensor]);
        }) {}

  std::span<const Slice> tensors() const override { return flat_.tensors(); }
  std::span<const std::size_t> rows() const override { return flat_.rows(); }
  std::vector<TensorShape> shapes() override { return flat_.shapes(); }  // nothing is frozen
  FloatView params() override { return flat_.params(); }
  FloatView gradient() override { return flat_.gradient(); }
  std::span<const FloatView> buffers() override { return flat_.buffers(); }

  double compute_gradient(const Batch& batch, const Ready& ready) override {
    net_->train();
    kernels::fill(0, flat_.gradient());
    const Tensor loss = ::torch::nn::functional::cross_entropy(net_->forward(images(batch)), labels(batch));
    const double value = loss.item<double>();
    ready_ = std::isfinite(value) ? &ready : nullptr;
    loss.backward();
    ready_ = nullptr;
    return value;
  }

  Score evaluate(const Batch& batch) override {
    net_->eval();
    const ::torch::NoGradGuard no_grad;
    const Tensor scores = net_->forward(images(batch));
    const Tensor wanted = labels(batch);
    const auto options = ::torch::nn::functional::CrossEntropyFuncOptions().reduction(::torch::kSum);
    return {::torch::nn::functional::cross_entropy(scores, wanted, options).item<double>(),
            scores.argmax(1).eq(wanted).sum().item<std::int64_t>(), static_cast<std::int64_t>(batch.size())};
  }

 private:
  // Tensors over the batch's own memory. Torch has no read-only tensor; nothing here writes to its input.
  static Tensor images(const Batch& b) {
    return ::torch::from_blob(
        const_cast<float*>(b.images.data()),
        {static_cast<std::int64_t>(b.size()), b.shape.channels, b.shape.height, b.shape.width});
  }
  static Tensor labels(const Batch& b) {
    return ::torch::from_blob(const_cast<std::int64_t*>(b.labels.data()),
                              {static_cast<std::int64_t>(b.size())}, ::torch::kInt64);
  }

  std::shared_ptr<Net> net_;
  FlatModule flat_;
  const Ready* ready_ = nullptr;  // while gradients are computed
  const GradientHooks hooks_;
};

void check_input(const std::string& model, const ModelContext& context, int least) {
  if (context.input.height < least || context.input.width < least)
    throw InvalidConfig(model + " needs images of at least " + std::to_string(least) + " x " +
                        std::to_string(least) + " pixels; choose other data or the model mlp");
}

// LibTorch draws initial weights from one generator per process, so ranks that are threads take turns and
// each starts it anew.
std::unique_ptr<Model> seeded(const ModelContext& context, int threads,
                              const std::function<std::shared_ptr<Net>()>& make) {
  static Mutex one_at_a_time;
  const MutexLock lock(one_at_a_time);
  at::set_num_threads(threads);
  ::torch::manual_seed(context.seed);
  return std::make_unique<TorchModel>(make());
}

using Maker = decltype(ModelInfo::make);

Maker cnn_maker(int threads) {
  return [threads](OptionReader&, const ModelContext& context) {
    check_input("cnn", context, 4);
    return seeded(context, threads, [&] { return make_cnn(context); });
  };
}

Norm norm_of(OptionReader& options) {
  const std::array<std::string, 2> norms{"batch", "group"};
  const std::string norm = options.choice(
      "norm", "batch", norms, {"normalisation of activations: by batch or by groups of channels"});
  return norm == "batch" ? Norm::kBatch : Norm::kGroup;
}

Maker small_resnet_maker(const ModelCard& card, int threads) {
  return [card, threads](OptionReader& options, const ModelContext& context) {
    const Norm norm = norm_of(options);
    check_input(card.name, context, 8);
    return seeded(context, threads, [&] { return make_small_resnet(context, (card.depth - 2) / 6, norm); });
  };
}

Maker resnet_maker(const ModelCard& card, int threads) {
  return [card, threads](OptionReader& options, const ModelContext& context) {
    const Norm norm = norm_of(options);
    check_input(card.name, context, 16);
    return seeded(context, threads, [&] { return make_resnet(context, card.depth, norm); });
  };
}

Maker maker_of(const ModelCard& card, int threads) {
  switch (card.family) {
    case Family::kCnn:
      return cnn_maker(threads);
    case Family::kSmallResidual:
      return small_resnet_maker(card, threads);
    case Family::kResidual:
      break;
  }
  return resnet_maker(card, threads);
}

}  // namespace

void add_models(ModelRegistry& registry, int threads_per_rank) {
  for (const ModelCard& card : kModelCards)
    registry.add({card.name, card.summary, card.paper, card.example, maker_of(card, threads_per_rank)});
}

}  // namespace tacit::torch
