// SPDX-License-Identifier: MIT
// What changes weights by gradients, on flat arrays.
#pragma once

#include <memory>

#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

// Bits     works element by element: one optimiser per slice gives the same bits as one for all.
// Threads  one at a time. One optimiser belongs to one replica, or to one slice of it.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(ConstFloatView gradient, float lr, FloatView params) = 0;
  // How far a gradient that stays the same moves weights per step in the long run, in units of lr times that gradient;
  // 1 where that has no meaning.
  virtual double gain() const { return 1; }
  // A copy with the same settings and no memory of past steps.
  virtual std::unique_ptr<Optimizer> fresh() const = 0;
  // Momentum, moments, the number of steps. load() may come before the first step.
  virtual void save(StateWriter& state) const = 0;
  virtual void load(StateReader& state) = 0;
};

}  // namespace tacit
