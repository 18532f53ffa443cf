// SPDX-License-Identifier: MIT
#include "adapters/torch/micro_batches.h"

#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit::torch {

void MicroBatches::take(FloatView gradient, Samples samples) {
  if (batches_ > 0 && weighed_ != samples.has_value())
    throw InvalidConfig(
        "accumulate() and step() must all be given samples, or none of them, until the step is done; a batch "
        "without "
        "samples has no weight among those that have");
  if (batches_ == 0) sum_.assign(gradient.size(), 0.0F);
  const std::int64_t weight = samples.value_or(1);
  // A batch of no samples may have a gradient that is no number.
  if (weight > 0) kernels::axpy(static_cast<float>(weight), gradient, sum_);
  ++batches_;
  weighed_ = samples.has_value();
  weight_ += weight;
}

void MicroBatches::add(FloatView gradient, Samples samples) {
  take(gradient, samples);
  kernels::fill(0, gradient);
}

MicroBatches::Samples MicroBatches::close(FloatView gradient, Samples samples) {
  if (batches_ == 0) return samples;
  if (samples || weighed_ || kernels::max_abs(gradient) != 0) take(gradient, samples);
  copy(sum_, gradient);
  if (weight_ > 0) kernels::scale(1 / static_cast<float>(weight_), gradient);
  batches_ = 0;
  const std::int64_t all = std::exchange(weight_, 0);
  return std::exchange(weighed_, false) ? Samples(all) : std::nullopt;
}

}  // namespace tacit::torch
