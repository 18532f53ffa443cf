// SPDX-License-Identifier: MIT
// A perceptron with one hidden layer of rectified units and hand-written gradients.
#include <algorithm>
#include <array>
#include <vector>

#include "train/models/layers.h"
#include "train/models/models.h"

namespace tacit {
namespace {

class Mlp final : public Model {
 public:
  Mlp(const ModelContext& context, std::size_t hidden)
      : first_(0, context.input.size(), hidden),
        second_(first_.end(), hidden, static_cast<std::size_t>(context.classes)),
        tensors_{first_.weights(), first_.bias(), second_.weights(), second_.bias()},
        params_(second_.end()),
        gradient_(second_.end()),
        hidden_(hidden),
        d_hidden_(hidden),
        scores_(second_.outputs()) {
    Rng rng(context.seed, Rng::kEveryRank, 0, Rng::Use::kInit);
    first_.init(params_, rng);
    second_.init(params_, rng);
  }

  std::span<const Slice> tensors() const override { return tensors_; }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }

  double compute_gradient(const Batch& batch) override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    double loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      forward(sample(batch, i));
      loss += softmax(scores_, batch.labels[i]);
      scores_[static_cast<std::size_t>(batch.labels[i])] -= 1.0F;  // d loss / d scores
      backward(sample(batch, i));
    }
    kernels::scale(1.0F / static_cast<float>(batch.size()), gradient_);
    return loss / static_cast<double>(batch.size());
  }

  Score evaluate(const Batch& batch) override {
    Score score;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      forward(sample(batch, i));
      tally(scores_, batch.labels[i], score);
    }
    return score;
  }

 private:
  void forward(ConstFloatView x) {
    first_.forward(params_, x, hidden_);
    for (float& h : hidden_) h = std::max(h, 0.0F);
    second_.forward(params_, hidden_, scores_);
  }
  void backward(ConstFloatView x) {
    second_.backward(hidden_, scores_, gradient_);
    second_.backward_input(params_, scores_, d_hidden_);
    for (std::size_t u = 0; u < hidden_.size(); ++u)
      if (hidden_[u] <= 0) d_hidden_[u] = 0;
    first_.backward(x, d_hidden_, gradient_);
  }

  const Dense first_;
  const Dense second_;
  const std::array<Slice, 4> tensors_;
  std::vector<float> params_;
  std::vector<float> gradient_;
  std::vector<float> hidden_;
  std::vector<float> d_hidden_;
  std::vector<float> scores_;
};

}  // namespace

ModelInfo mlp_info() {
  return {"mlp", "one hidden layer of rectified units, hand-written (options: hidden=128)",
          "Rumelhart, Hinton, Williams, Nature 323, 1986",
          [](OptionReader& options, const ModelContext& context) -> std::unique_ptr<Model> {
            const auto hidden = options.integer("hidden", 128, 1, 65'536);
            return std::make_unique<Mlp>(context, static_cast<std::size_t>(hidden));
          }};
}

}  // namespace tacit
