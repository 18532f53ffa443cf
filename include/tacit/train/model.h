// SPDX-License-Identifier: MIT
// A model as the trainer sees it: flat weights in, loss and flat gradient out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/registry.h"
#include "tacit/core/tensor_shape.h"
#include "tacit/core/views.h"
#include "tacit/train/dataset.h"

namespace tacit {

// Sums over samples, so that ranks can add theirs.
struct Score {
  double loss = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;
  Score& operator+=(const Score& other) {
    loss += other.loss;
    correct += other.correct;
    samples += other.samples;
    return *this;
  }
};

// Owns its weights, its gradient and its buffers.
//
// Threads  one at a time.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::span<const Slice> tensors() const = 0;
  // The first dimension of each tensor, for compressors that see matrices; empty where nobody knows.
  virtual std::span<const std::size_t> rows() const { return {}; }
  // As a file of the model names tensors(), and then buffers(); numbers in place of names where nobody gave any.
  virtual std::vector<TensorShape> shapes();
  virtual FloatView params() = 0;
  virtual FloatView gradient() = 0;
  // State that is not trained, such as a batch norm's statistics. Averaged over ranks for evaluation.
  virtual std::span<const FloatView> buffers() { return {}; }

  // Told that a part of gradient() is final while others are still to be computed. Each part is told of once, or not at
  // all: what nobody was told of is final in the end. Where the loss is not finite nobody is told of anything, so that
  // nothing of such a gradient is sent.
  using Ready = std::function<void(Slice part)>;
  // Fills gradient() with that of the mean loss over the batch at params(); returns that loss.
  virtual double compute_gradient(const Batch& batch, const Ready& ready) = 0;
  double compute_gradient(const Batch& batch) {
    return compute_gradient(batch, [](Slice) {});
  }
  virtual Score evaluate(const Batch& batch) = 0;
  // Whether evaluate counts correct answers; where not, an accuracy means nothing.
  virtual bool classifies() const { return true; }
};

// What a model is built for.
struct ModelContext {
  ImageShape input;
  int classes = 0;
  std::uint64_t seed = 0;  // equal seeds give equal weights on every rank
};

struct ModelInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::string example;  // as a user writes it
  std::function<std::unique_ptr<Model>(OptionReader&, const ModelContext&)> make;
};
using ModelRegistry = Registry<ModelInfo>;

// The models that need no LibTorch: logistic, mlp, quadratic.
const ModelRegistry& builtin_models();

inline std::unique_ptr<Model> make_model(const ModelRegistry& known, std::string_view spec,
                                         const ModelContext& context) {
  return known.make(spec, [&](const ModelInfo& info, OptionReader& o) { return info.make(o, context); });
}

}  // namespace tacit
