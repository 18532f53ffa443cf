// SPDX-License-Identifier: MIT
// Rounds of steps that every rank takes alone: local SGD, and the frame of all that changes how a round ends.
#pragma once

#include <memory>

#include "tacit/core/buffer.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

// Every rank applies its own gradients for `period` steps; then all average their weights, compressed as differences from
// where the round began. The last mean of a run, after a round that was not whole, is exact.
//
// Threads  the trainer's task.
class LocalRounds : public Strategy {
 public:
  explicit LocalRounds(std::int64_t period) : period_(period) {}

  void start(Worker& w) override;
  void step(Worker& w) override;
  void model(Worker& w, FloatView out) override;
  void finish(Worker& w) override;
  void save(Worker& w, StateWriter& state) override;
  void load(Worker& w, StateReader& state) override;

 protected:
  // w.params() is the mean of all ranks'; leave in it where the next round begins, the same on every rank. base() is
  // free to be written.
  virtual void end_round(Worker&) {}
  // Whether end_round() reads where the round began; otherwise that is kept only where means are of differences.
  virtual bool needs_base() const { return false; }

  FloatView base() { return base_.view(); }
  bool apart() const { return apart_; }
  void come_together(Worker& w);

 private:
  bool keeps_base() const { return needs_base() || !mean_->exact(); }

  const std::int64_t period_;
  bool apart_ = false;  // whether replicas differ; the same on every rank
  std::unique_ptr<Mean> mean_;
  Buffer base_;  // where the round began, equal on every rank
};

}  // namespace tacit
