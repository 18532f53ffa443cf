// SPDX-License-Identifier: MIT
#include "adapters/torch/torch_worker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

// Counts that a module keeps, such as a batch norm's of its batches, as they were when this was made: there again when
// it is dropped. A second gradient of a batch does not count.
class IntegersKept {
 public:
  explicit IntegersKept(std::vector<::torch::Tensor> buffers) : places_(std::move(buffers)) {
    for (const ::torch::Tensor& each : places_) values_.push_back(each.clone());
  }
  ~IntegersKept() {
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i].copy_(values_[i]);
  }
  IntegersKept(const IntegersKept&) = delete;
  IntegersKept& operator=(const IntegersKept&) = delete;

 private:
  std::vector<::torch::Tensor> places_;
  std::vector<::torch::Tensor> values_;
};

}  // namespace

float TorchWorker::lr(std::int64_t t) const {
  if (t != this->t() && parts_.options.schedule) return static_cast<float>(parts_.options.schedule(t));
  return static_cast<float>(parts_.optimizer.param_groups().at(0).options().get_lr());
}

void TorchWorker::apply(ConstFloatView g, FloatView x) {
  if (!parts_.flat.gradient().is(g)) copy(g, parts_.flat.gradient());
  const TimeAccount::Computation computing(parts_.times);
  const bool elsewhere = !params().is(x);
  if (put_off_) {
    TACIT_CHECK(!elsewhere,
                "a strategy whose step ends with apply() was to move another point than params()");
    return;
  }
  if (!elsewhere) return apply_gradient();
  // The optimiser steps in the module: x takes the place of its parameters meanwhile, also where that throws.
  const TrainingPoint kept(*this);
  copy(x, params());
  apply_gradient();
  copy(params(), x);
}

void TorchWorker::compute_again(std::optional<std::int64_t> piece) {
  const Replicated::Options& o = parts_.options;
  if (piece ? !o.gradient_of : !o.gradient)
    throw InvalidConfig(
        piece
            ? parts_.strategy +
                  " chooses the pieces of data that a rank computes on, which the loop must do for it: set "
                  "Options::gradient_of to a function that runs forward and backward on that piece of the "
                  "step's "
                  "global batch and returns the loss"
            : parts_.strategy +
                  " needs the gradient of a batch at a second point, which the loop must compute for it: set "
                  "Options::gradient to a function that runs forward and backward again on the batch of this "
                  "step and "
                  "returns the loss");
  const TimeAccount::Computation computing(parts_.times);
  const IntegersKept kept(piece ? std::vector<::torch::Tensor>() : parts_.flat.integers());
  parts_.flat.clear_gradients();
  loss_ = piece ? o.gradient_of(*piece) : o.gradient();
  parts_.flat.collect_gradients();
}

void TorchWorker::apply_gradient() {
  if (parts_.options.before_apply) parts_.options.before_apply();
  parts_.inner();
}

std::unique_ptr<Optimizer> TorchWorker::new_optimizer() const {
  if (parts_.options.before_apply)
    throw InvalidConfig(
        "before_apply cannot run with " + parts_.strategy +
        ", which applies gradients on its servers and not here; leave it out, or use a strategy "
        "without servers");
  return parts_.inner.flat();
}

std::vector<double> TorchWorker::rates() const {
  std::vector<double> all;
  for (const auto& group : parts_.optimizer.param_groups()) all.push_back(group.options().get_lr());
  return all;
}

void TorchWorker::set_rates(const std::vector<double>& rates) {
  auto& groups = parts_.optimizer.param_groups();
  for (std::size_t i = 0; i < std::min(rates.size(), groups.size()); ++i)
    groups[i].options().set_lr(rates[i]);
}

}  // namespace tacit::torch
