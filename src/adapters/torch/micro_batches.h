// SPDX-License-Identifier: MIT
// Gradients of several batches that become one step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tacit/core/views.h"

namespace tacit::torch {

// Samples weigh a batch: given with all of a step's batches or with none, in which case they weigh alike.
//
// Errors  InvalidConfig for samples with some batches of a step only.
class MicroBatches {
 public:
  using Samples = std::optional<std::int64_t>;

  bool empty() const { return batches_ == 0; }
  // Keeps the gradient and leaves zeros.
  void add(FloatView gradient, Samples samples);
  // The gradient becomes the mean over those kept and itself, and none is kept. A gradient of zeros, without samples,
  // is no batch: nothing was computed since the last add(). Returns the samples of all.
  Samples close(FloatView gradient, Samples samples);

 private:
  void take(FloatView gradient, Samples samples);

  std::vector<float> sum_;  // each times its weight
  int batches_ = 0;
  bool weighed_ = false;
  std::int64_t weight_ = 0;
};

}  // namespace tacit::torch
