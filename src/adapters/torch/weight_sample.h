// SPDX-License-Identifier: MIT
// Notices that somebody else changed weights.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacit/core/views.h"

namespace tacit::torch {

// A few weights of every tensor, about a thousand in all, as a step left them. LibTorch's optimisers leave no trace on
// a tensor but its values, and to compare all of them would cost as much as a step of a large model. Which ones
// changes from step to step, so that a loop that changes weights meets one of them sooner or later.
class WeightSample {
 public:
  explicit WeightSample(std::span<const Slice> tensors);

  void take(ConstFloatView params, std::int64_t t);
  // A tensor of which one has another value now; nothing where none has.
  std::optional<std::size_t> changed(ConstFloatView params) const;

 private:
  template <class Visit>
  void each(const Visit& visit) const;

  std::vector<Slice> tensors_;
  std::size_t per_tensor_;
  std::uint64_t t_ = 0;
  std::vector<float> values_;
};

}  // namespace tacit::torch
