// SPDX-License-Identifier: MIT
// Multinomial logistic regression: convex, so that tests can ask how close an algorithm comes.
#include <array>
#include <vector>

#include "train/models/layers.h"
#include "train/models/models.h"

namespace tacit {
namespace {

// Starts at zero: the loss is convex, so the start does not matter.
class Logistic final : public SoftmaxModel {
 public:
  explicit Logistic(const ModelContext& context)
      : Logistic(Dense(0, context.input.size(), static_cast<std::size_t>(context.classes))) {}

  std::span<const Slice> tensors() const override { return tensors_; }
  std::span<const std::size_t> rows() const override { return rows_; }
  std::vector<TensorShape> shapes() override { return layer_.shapes("linear"); }

 private:
  explicit Logistic(const Dense& layer)
      : SoftmaxModel(layer.end(), layer.outputs()),
        layer_(layer),
        tensors_{layer.weights(), layer.bias()},
        rows_{layer.outputs(), layer.outputs()} {}

  void forward(SampleRows x) override { layer_.forward(params_, x, scores_); }
  void backward(SampleRows x, const Ready& ready) override {
    layer_.backward(x, scores_.rows(), gradient_, ready);
  }

  const Dense layer_;
  const std::array<Slice, 2> tensors_;
  const std::array<std::size_t, 2> rows_;
};

}  // namespace

ModelInfo logistic_info() {
  return {"logistic", "multinomial logistic regression, hand-written", "convex; no paper", "logistic",
          [](OptionReader&, const ModelContext& context) -> std::unique_ptr<Model> {
            return std::make_unique<Logistic>(context);
          }};
}

}  // namespace tacit
