// SPDX-License-Identifier: MIT
// A perceptron with one hidden layer of rectified units and hand-written gradients.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "train/models/layers.h"
#include "train/models/models.h"

namespace tacit {
namespace {

class Mlp final : public SoftmaxModel {
 public:
  Mlp(const ModelContext& context, std::size_t hidden)
      : Mlp(Dense(0, context.input.size(), hidden), static_cast<std::size_t>(context.classes)) {
    Rng rng(context.seed, Rng::kEveryRank, 0, Rng::Use::kInit);
    first_.init(params_, rng);
    second_.init(params_, rng);
  }

  std::span<const Slice> tensors() const override { return tensors_; }
  std::span<const std::size_t> rows() const override { return rows_; }
  std::vector<TensorShape> shapes() override {
    std::vector<TensorShape> all = first_.shapes("hidden");
    for (TensorShape& each : second_.shapes("output")) all.push_back(std::move(each));
    return all;
  }

 private:
  Mlp(const Dense& first, std::size_t classes) : Mlp(first, Dense(first.end(), first.outputs(), classes)) {}
  Mlp(const Dense& first, const Dense& second)
      : SoftmaxModel(second.end(), second.outputs()),
        first_(first),
        second_(second),
        tensors_{first.weights(), first.bias(), second.weights(), second.bias()},
        rows_{first.outputs(), first.outputs(), second.outputs(), second.outputs()},
        hidden_(first.outputs()),
        d_hidden_(first.outputs()) {}

  void forward(SampleRows x) override {
    hidden_.resize(x.size());
    first_.forward(params_, x, hidden_);
    for (float& h : hidden_.all()) h = std::max(h, 0.0F);
    second_.forward(params_, hidden_.rows(), scores_);
  }
  void backward(SampleRows x, const Ready& ready) override {
    d_hidden_.resize(x.size());
    second_.backward(hidden_.rows(), scores_.rows(), gradient_, ready);
    second_.backward_input(params_, scores_.rows(), d_hidden_);
    for (std::size_t u = 0; u < hidden_.all().size(); ++u)
      if (hidden_.all()[u] <= 0) d_hidden_.all()[u] = 0;
    first_.backward(x, d_hidden_.rows(), gradient_, ready);
  }

  const Dense first_;
  const Dense second_;
  const std::array<Slice, 4> tensors_;
  const std::array<std::size_t, 4> rows_;
  SampleMatrix hidden_;
  SampleMatrix d_hidden_;
};

}  // namespace

ModelInfo mlp_info() {
  return {"mlp", "one hidden layer of rectified units, hand-written",
          "Rumelhart, Hinton, Williams, Nature 323, 1986", "mlp:hidden=256",
          [](OptionReader& options, const ModelContext& context) -> std::unique_ptr<Model> {
            const auto hidden = options.integer("hidden", 128, 1, 65'536, {"hidden units"});
            return std::make_unique<Mlp>(context, static_cast<std::size_t>(hidden));
          }};
}

}  // namespace tacit
