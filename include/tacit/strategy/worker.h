// SPDX-License-Identifier: MIT
// All that an algorithm may know, in the papers' words.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tacit/collectives/comm.h"
#include "tacit/core/rng.h"
#include "tacit/core/tasks.h"
#include "tacit/core/views.h"
#include "tacit/strategy/mean.h"
#include "tacit/strategy/optimizer.h"

namespace tacit {

// Threads  the trainer's task.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::int64_t t() const = 0;        // the step, from 0
  virtual float lr() const = 0;              // eta_t
  virtual FloatView params() = 0;            // x_t, flat
  virtual FloatView gradient() = 0;          // fresh, at params(), when step() is called
  virtual void apply(ConstFloatView g) = 0;  // inner optimiser: params <- params + U(g)
  // A new optimiser with the inner one's settings, for parameters that are updated elsewhere. Throws
  // InvalidConfig, which names the optimiser, if it has no form for flat arrays.
  virtual std::unique_ptr<Optimizer> new_optimizer() const = 0;
  virtual std::span<const Slice> tensors() const = 0;  // where each tensor lies, for per-tensor rules
  // The first dimension of each tensor, for rules that see matrices; empty where nobody knows.
  virtual std::span<const std::size_t> rows() const { return {}; }
  virtual Comm& comm() = 0;
  // A mean over ranks of vectors like params(), in the form that the run wants. Collective, in Strategy::start.
  virtual std::unique_ptr<Mean> make_mean(const MeanOptions& options) = 0;
  virtual Tasks& tasks() = 0;
  virtual Rng rng(Rng::Use use) const = 0;  // at (seed, rank, t)
};

}  // namespace tacit
