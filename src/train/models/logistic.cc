// SPDX-License-Identifier: MIT
// Multinomial logistic regression: convex, so that tests can ask how close an algorithm comes.
#include <algorithm>
#include <array>
#include <vector>

#include "train/models/layers.h"
#include "train/models/models.h"

namespace tacit {
namespace {

class Logistic final : public Model {
 public:
  explicit Logistic(const ModelContext& context)
      : layer_(0, context.input.size(), static_cast<std::size_t>(context.classes)),
        tensors_{layer_.weights(), layer_.bias()},
        params_(layer_.end()),
        gradient_(layer_.end()),
        scores_(layer_.outputs()) {}

  std::span<const Slice> tensors() const override { return tensors_; }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }

  double compute_gradient(const Batch& batch) override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    double loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      layer_.forward(params_, sample(batch, i), scores_);
      loss += softmax(scores_, batch.labels[i]);
      scores_[static_cast<std::size_t>(batch.labels[i])] -= 1.0F;  // d loss / d scores
      layer_.backward(sample(batch, i), scores_, gradient_);
    }
    kernels::scale(1.0F / static_cast<float>(batch.size()), gradient_);
    return loss / static_cast<double>(batch.size());
  }

  Score evaluate(const Batch& batch) override {
    Score score;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      layer_.forward(params_, sample(batch, i), scores_);
      tally(scores_, batch.labels[i], score);
    }
    return score;
  }

 private:
  const Dense layer_;
  const std::array<Slice, 2> tensors_;
  std::vector<float> params_;  // zero: the loss is convex, so the start does not matter
  std::vector<float> gradient_;
  std::vector<float> scores_;
};

}  // namespace

ModelInfo logistic_info() {
  return {"logistic", "multinomial logistic regression, hand-written", "convex; no paper",
          [](OptionReader&, const ModelContext& context) -> std::unique_ptr<Model> {
            return std::make_unique<Logistic>(context);
          }};
}

}  // namespace tacit
