// SPDX-License-Identifier: MIT
// f(x) = mean over samples of 1/2 sum_j a_j (x_j - c_j)^2, where c is the sample's image and a_j runs from 1
// to `condition`. The minimiser is the mean image, so that a test knows where every algorithm must end.
#include <algorithm>
#include <array>
#include <vector>

#include "train/models/layers.h"
#include "train/models/models.h"

namespace tacit {
namespace {

class Quadratic final : public Model {
 public:
  Quadratic(const ModelContext& context, double condition)
      : tensors_{Slice{0, context.input.size()}},
        curvature_(context.input.size()),
        params_(context.input.size()),
        gradient_(context.input.size()) {
    const double last = std::max<double>(1, static_cast<double>(curvature_.size()) - 1);
    for (std::size_t j = 0; j < curvature_.size(); ++j)
      curvature_[j] = static_cast<float>(1 + (condition - 1) * static_cast<double>(j) / last);
    Rng rng(context.seed, Rng::kEveryRank, 0, Rng::Use::kInit);
    for (float& x : params_) x = rng.normal();
  }

  std::span<const Slice> tensors() const override { return tensors_; }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }

  bool classifies() const override { return false; }

  double compute_gradient(const Batch& batch, const Ready&) override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::span<const float> c = sample(batch, i);
      for (std::size_t j = 0; j < c.size(); ++j) gradient_[j] += curvature_[j] * (params_[j] - c[j]);
    }
    kernels::scale(1.0F / static_cast<float>(batch.size()), gradient_);
    return evaluate(batch).loss / static_cast<double>(batch.size());
  }

  Score evaluate(const Batch& batch) override {
    Score score{0, 0, static_cast<std::int64_t>(batch.size())};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::span<const float> c = sample(batch, i);
      for (std::size_t j = 0; j < c.size(); ++j) {
        const double d = static_cast<double>(params_[j]) - static_cast<double>(c[j]);
        score.loss += 0.5 * static_cast<double>(curvature_[j]) * d * d;
      }
    }
    return score;
  }

 private:
  const std::array<Slice, 1> tensors_;
  std::vector<float> curvature_;
  std::vector<float> params_;
  std::vector<float> gradient_;
};

}  // namespace

ModelInfo quadratic_info() {
  return {"quadratic", "a quadratic bowl over the mean image; no classes", "convex; no paper",
          "quadratic:condition=100",
          [](OptionReader& options, const ModelContext& context) -> std::unique_ptr<Model> {
            return std::make_unique<Quadratic>(
                context, options.number("condition", 10, 1, 1e6, {"largest curvature by the smallest"}));
          }};
}

}  // namespace tacit
