// SPDX-License-Identifier: MIT
// How a worker of SSD-SGD moves its own weights between two pulls (docs/strategies/ssd.md).
#pragma once

#include <memory>

#include "tacit/core/state.h"
#include "tacit/strategy/worker.h"

namespace tacit {

// Threads  the trainer's task.
class LocalRule {
 public:
  virtual ~LocalRule() = default;
  // A step of the warm-up, whose weights are the servers'. params() may be anything afterwards.
  virtual void warm_up(Worker& w) = 0;
  // Moves params() by the step's gradient.
  virtual void step(Worker& w) = 0;
  // The servers' weights, as they were pulled.
  virtual void take(ConstFloatView pulled) = 0;

  virtual void save(StateWriter& state) const = 0;
  virtual void load(StateReader& state) = 0;
};

// gain: how far a gradient that stays the same moves the servers' weights per step in the end, in units of eta.

// The inner optimiser with a state of its own, and with the momentum that a compressor of pushes has in its place.
std::unique_ptr<LocalRule> make_own_optimizer(Worker& w, double gain);

// GLU, the released program's rule: w_loc <- w_loc - local_lr eta (alpha gain g + beta G).
struct Glu {
  double alpha, beta, local_lr, local_decay;
};
std::unique_ptr<LocalRule> make_glu(Worker& w, double gain, const Glu& options);

}  // namespace tacit
