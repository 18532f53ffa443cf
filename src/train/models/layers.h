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
#include "tacit/core/space.h"
#include "tacit/core/views.h"
#include "tacit/train/model.h"

namespace tacit {

// One row of floats per sample of a batch, in memory that somebody else owns.
class SampleRows {
 public:
  SampleRows(std::span<const float> values, std::size_t width) : values_(values), width_(width) {}
  std::size_t size() const { return values_.size() / width_; }
  std::span<const float> operator[](std::size_t i) const { return values_.subspan(i * width_, width_); }

 private:
  std::span<const float> values_;
  std::size_t width_;
};

// The same, that can be written to and keeps its memory from batch to batch.
class SampleMatrix {
 public:
  explicit SampleMatrix(std::size_t width) : width_(width) {}
  void resize(std::size_t samples) { values_.resize(samples * width_); }
  std::span<float> operator[](std::size_t i) { return std::span(values_).subspan(i * width_, width_); }
  std::span<float> all() { return values_; }
  SampleRows rows() const { return {values_, width_}; }

 private:
  std::size_t width_;
  std::vector<float> values_;
};

// y = W x + b, W stored row by row (one row per output) and b behind it. Holds no memory of its own. A row of W, or of
// its gradient, is read once for all samples of a batch: it is what does not fit into a cache.
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

  void forward(std::span<const float> params, SampleRows x, SampleMatrix& y) const {
    const std::span<const float> b = params.subspan(bias().offset, outputs_);
    for (std::size_t o = 0; o < outputs_; ++o)
      for (std::size_t i = 0; i < x.size(); ++i)
        y[i][o] = static_cast<float>(kernels::dot(row(params, o), x[i])) + b[o];
  }

  // The mean over samples, from the last row up, each told of as soon as it is final: dy has the losses' derivatives
  // by y.
  void backward(SampleRows x, SampleRows dy, std::span<float> gradient, const Model::Ready& ready) const {
    const FloatView bias_gradient = part(FloatView(gradient), bias());
    const float share = 1.0F / static_cast<float>(x.size());
    kernels::fill(0, bias_gradient);
    for (std::size_t i = 0; i < x.size(); ++i) kernels::add(dy[i], bias_gradient);
    kernels::scale(share, bias_gradient);
    ready(bias());
    for (std::size_t o = outputs_; o-- > 0;) {
      const FloatView row_gradient = part(FloatView(gradient), row_slice(o));
      kernels::fill(0, row_gradient);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (dy[i][o] != 0) kernels::axpy(dy[i][o], x[i], row_gradient);
      kernels::scale(share, row_gradient);
      ready(row_slice(o));
    }
  }

  // dx <- W^T dy.
  void backward_input(std::span<const float> params, SampleRows dy, SampleMatrix& dx) const {
    std::fill(dx.all().begin(), dx.all().end(), 0.0F);
    for (std::size_t i = 0; i < dy.size(); ++i)
      for (std::size_t o = 0; o < outputs_; ++o) kernels::axpy(dy[i][o], row(params, o), dx[i]);
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

inline SampleRows samples(const Batch& batch) { return {batch.images, batch.shape.size()}; }

// A model that scores classes: the loss over a batch, for layers that handle one. Memory of weights, gradient and scores
// is here; the derived class says where its layers lie.
class SoftmaxModel : public Model {
 public:
  FloatView params() final { return own_params_.view(); }
  FloatView gradient() final { return own_gradient_.view(); }

  double compute_gradient(const Batch& batch, const Ready& ready) final {
    score(batch);
    double loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      loss += softmax(scores_[i], batch.labels[i]);
      scores_[i][static_cast<std::size_t>(batch.labels[i])] -= 1.0F;  // d loss / d scores
    }
    backward(
        samples(batch), std::isfinite(loss) ? ready : [](Slice) {});
    return loss / static_cast<double>(batch.size());
  }

  Score evaluate(const Batch& batch) final {
    score(batch);
    Score total;
    for (std::size_t i = 0; i < batch.size(); ++i) tally(scores_[i], batch.labels[i], total);
    return total;
  }

 protected:
  SoftmaxModel(std::size_t parameters, std::size_t classes)
      : own_params_(host_space().allocate(parameters)),
        own_gradient_(host_space().allocate(parameters)),
        params_(own_params_.view().host()),
        gradient_(own_gradient_.view().host()),
        scores_(classes) {}

  virtual void forward(SampleRows x) = 0;  // fills scores_, which have their size
  // Fills gradient_, from the last tensor down; scores_ hold d loss / d scores of forward(x).
  virtual void backward(SampleRows x, const Ready& ready) = 0;

 private:
  const Block own_params_;
  const Block own_gradient_;

 protected:
  const std::span<float> params_;  // zero at first
  const std::span<float> gradient_;
  SampleMatrix scores_;

 private:
  void score(const Batch& batch) {
    scores_.resize(batch.size());
    forward(samples(batch));
  }
};

}  // namespace tacit
