// SPDX-License-Identifier: MIT
// All that an algorithm may know, in the papers' words.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/core/rng.h"
#include "tacit/core/tasks.h"
#include "tacit/core/views.h"
#include "tacit/strategy/mean.h"
#include "tacit/strategy/optimizer.h"

namespace tacit {

class PushCodec;  // tacit/strategy/push_codec.h

// Threads  the trainer's task.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::int64_t t() const = 0;               // the step, from 0
  virtual std::int64_t total() const { return 0; }  // steps of the run; 0: nobody knows
  float lr() const { return lr(t()); }              // eta_t
  // eta of any step, as far as the loop knows its schedule; otherwise that of now.
  virtual float lr(std::int64_t t) const = 0;
  virtual FloatView params() = 0;    // x_t, flat
  virtual FloatView gradient() = 0;  // fresh, at params(), when step() is called
  // Of the mini-batch that gradient() is of, where that was computed; not a number where nobody said.
  virtual double loss() const { return std::numeric_limits<double>::quiet_NaN(); }

  // The inner optimiser: x <- x + U(g), with one state whatever x is. gradient() may be g afterwards.
  void apply(ConstFloatView g) { apply(g, params()); }
  virtual void apply(ConstFloatView g, FloatView x) = 0;
  // Its state.
  virtual OptimizerState& optimizer() = 0;
  // A new optimiser with the inner one's settings, for parameters that are updated elsewhere. Throws
  // InvalidConfig, which names the optimiser, if it has no form for flat arrays.
  virtual std::unique_ptr<Optimizer> new_optimizer() const = 0;

  // gradient() and loss() become those of the same mini-batch at x. All else stays: params(), batch-norm statistics.
  // Throws InvalidConfig where the loop has no way to compute one again.
  virtual void gradient_at(ConstFloatView x) = 0;
  // gradient() and loss() become those, at params(), of one of the Strategy::pieces() of this step's global batch: the
  // same samples on every rank that asks. Throws as gradient_at.
  virtual void gradient_of(std::int64_t piece) = 0;

  virtual std::span<const Slice> tensors() const = 0;  // where each tensor lies, for per-tensor rules
  // The first dimension of each tensor, for rules that see matrices; empty where nobody knows.
  virtual std::span<const std::size_t> rows() const { return {}; }
  // What Strategy::ready will be given, in that order: it is cut alike on every rank, from before start() on. None where
  // gradients come whole.
  virtual std::span<const Slice> buckets() const { return {}; }
  virtual Comm& comm() = 0;
  // A mean over ranks of vectors like params(), in the form that the run wants. Collective, in Strategy::start.
  virtual std::unique_ptr<Mean> make_mean(const MeanOptions& options) = 0;
  // The same for gradients that are pushed to so many shards: one for every part that is pushed alone.
  virtual std::vector<std::unique_ptr<PushCodec>> make_push_codecs(int servers) = 0;
  virtual Tasks& tasks() = 0;
  virtual Rng rng(Rng::Use use) const = 0;  // at (seed, rank, t)
};

}  // namespace tacit
