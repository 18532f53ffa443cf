// SPDX-License-Identifier: MIT
// An algorithm that keeps replicas together. One file in src/strategies/.
#pragma once

#include <string>

#include "tacit/compress/compression.h"
#include "tacit/strategy/worker.h"

namespace tacit {

// Calls come in this order: start, then step for every gradient, with ready before it where the loop knows more, with
// settle and model in between at any time, then finish, and perhaps model once more. All but ready and step are
// collective: all ranks call them at the same step.
//
// Threads  the trainer's task.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // Why its options do not go with the run's compressor; empty where they do. What options do not change is in why_not()
  // of registry.h.
  virtual std::string why_not(const Compression& how) const;

  // How many pieces of equal size every global batch is cut into, for algorithms that choose what a rank computes. The
  // loop then computes no gradient of its own, and step() asks for those it wants with Worker::gradient_of. 0: the
  // loop's own batches.
  virtual int pieces(int ranks) const;

  // Before the first gradient. Equal weights everywhere: rank 0's.
  virtual void start(Worker& w);

  // This part of w.gradient() is final, and this call's: its exchange may begin while the rest is computed. Parts come in
  // the same order on every rank. Between two steps they come all, or none comes and step() has the gradient whole.
  virtual void ready(Worker& w, Slice part);

  // Whether parts come where nobody says how large they are. For those of which a measurement says that it pays
  // (docs/benchmarks.md).
  virtual bool overlap_pays() const { return false; }

  // w.gradient() is fresh at w.params(); leave in params() the point for the next gradient.
  virtual void step(Worker& w) = 0;

  // Waits for what is under way and model() needs. Called before the clock stops for an evaluation, so that this wait
  // counts.
  virtual void settle(Worker& w);

  // The weights to evaluate or save, where they are not params().
  virtual void model(Worker& w, FloatView out);

  // Ends every exchange. Afterwards params() is model() and equal on every rank.
  virtual void finish(Worker& w);

  // What a resumed run needs beside the parameters and the inner optimiser's state: residuals, clocks, phases, what is
  // under way. Collective as well, between two steps, and may wait; load() comes after start.
  virtual void save(Worker& w, StateWriter& state);
  virtual void load(Worker& w, StateReader& state);

  // Where ranks that were lost come back (StrategyInfo::survives): what one that does needs of one that lives, beside
  // parameters and the inner optimiser's state, which rejoin() finds in place. Between two steps and not collective;
  // rejoin() comes after start(), which was among this rank alone.
  virtual void lend(Worker& w, StateWriter& state);
  virtual void rejoin(Worker& w, StateReader& state);
};

}  // namespace tacit
