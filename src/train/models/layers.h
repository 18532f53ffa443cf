// SPDX-License-Identifier: MIT
// What the hand-written models share: a dense layer and the softmax loss, over rows of a batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/kernels.h"
#include "tacit/core/rng.h"
#include "tacit/core/views.h"
#include "tacit/train/model.h"

namespace tacit {

// y = W x + b, W stored row by row (one row per output) and b behind it. Holds no memory of its own.
class Dense {
 public:
  Dense(std::size_t offset, std::size_t inputs, std::size_t outputs)
      : offset_(offset), inputs_(inputs), outputs_(outputs) {}

  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  Slice weights() const { return {offset_, inputs_ * outputs_}; }
  Slice bias() const { return {offset_ + inputs_ * outputs_, outputs_}; }
  std::size_t end() const { return offset_ + inputs_ * outputs_ + outputs_; }
  // Of both, as LibTorch has them in a layer of that name.
  std::vector<TensorShape> shapes(const std::string& name) const {
    const auto rows = static_cast<std::int64_t>(outputs_);
    return {{name + ".weight", {rows, static_cast<std::int64_t>(inputs_)}}, {name + ".bias", {rows}}};
  }

  // Uniform in +-1/sqrt(inputs), LibTorch's choice.
  void init(std::span<float> params, Rng& rng) const {
    const float bound = 1.0F / std::sqrt(static_cast<float>(inputs_));
    for (float& w : params.subspan(offset_, end() - offset_)) w = (2.0F * rng.uniform() - 1.0F) * bound;
  }

  void forward(std::span<const float> params, std::span<const float> x, std::span<float> y) const {
    const std::span<const float> b = params.subspan(bias().offset, outputs_);
    for (std::size_t o = 0; o < outputs_; ++o)
      y[o] = static_cast<float>(kernels::dot(row(params, o), x)) + b[o];
  }

  // Adds the gradient of one sample: dy is the loss's derivative by y.
  void backward(std::span<const float> x, std::span<const float> dy, std::span<float> gradient) const {
    kernels::add(dy, part(FloatView(gradient), bias()));
    for (std::size_t o = 0; o < outputs_; ++o)
      if (dy[o] != 0) kernels::axpy(dy[o], x, part(FloatView(gradient), row_slice(o)));
  }

  // dx <- W^T dy.
  void backward_input(std::span<const float> params, std::span<const float> dy, std::span<float> dx) const {
    std::fill(dx.begin(), dx.end(), 0.0F);
    for (std::size_t o = 0; o < outputs_; ++o) kernels::axpy(dy[o], row(params, o), dx);
  }

 private:
  Slice row_slice(std::size_t o) const { return {offset_ + o * inputs_, inputs_}; }
  ConstFloatView row(std::span<const float> params, std::size_t o) const {
    return part(ConstFloatView(params), row_slice(o));
  }

  std::size_t offset_;
  std::size_t inputs_;
  std::size_t outputs_;
};

// Replaces scores by probabilities and returns the loss -log p[label].
inline double softmax(std::span<float> scores, std::int64_t label) {
  const float top = *std::max_element(scores.begin(), scores.end());
  const double own = static_cast<double>(scores[static_cast<std::size_t>(label)]) - static_cast<double>(top);
  double total = 0;
  for (float& s : scores) {
    s = std::exp(s - top);
    total += static_cast<double>(s);
  }
  kernels::scale(static_cast<float>(1 / total), scores);
  return std::log(total) - own;
}

// Adds one sample's scores to the tally; scores become probabilities.
inline void tally(std::span<float> scores, std::int64_t label, Score& score) {
  const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  score.correct += best == label ? 1 : 0;
  score.loss += softmax(scores, label);
  score.samples += 1;
}

inline std::span<const float> sample(const Batch& batch, std::size_t i) {
  return std::span<const float>(batch.images).subspan(i * batch.shape.size(), batch.shape.size());
}

// A model that scores classes: the loop over a batch, for layers that handle one sample. Memory of weights, gradient
// and scores is here; the derived class says where its layers lie.
class SoftmaxModel : public Model {
 public:
  FloatView params() final { return params_; }
  FloatView gradient() final { return gradient_; }

  double compute_gradient(const Batch& batch) final {
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

  Score evaluate(const Batch& batch) final {
    Score score;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      forward(sample(batch, i));
      tally(scores_, batch.labels[i], score);
    }
    return score;
  }

 protected:
  SoftmaxModel(std::size_t parameters, std::size_t classes)
      : params_(parameters), gradient_(parameters), scores_(classes) {}

  virtual void forward(std::span<const float> x) = 0;  // fills scores_
  virtual void backward(
      std::span<const float> x) = 0;  // adds to gradient_; scores_ hold d loss / d scores of forward(x)

  std::vector<float> params_;  // zero at first
  std::vector<float> gradient_;
  std::vector<float> scores_;
};

}  // namespace tacit
