// SPDX-License-Identifier: MIT
// What every Worker over a Process shares; who trains what, and how, is the derived class's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/strategy/strategy.h"
#include "tacit/strategy/worker.h"
#include "tacit/world/world.h"

namespace tacit {

// Lifetime  process must outlive it. Threads: the trainer's task.
class ReplicaWorker : public Worker {
 public:
  ReplicaWorker(Process& process, std::uint64_t seed) : process_(process), seed_(seed) {}

  int rank() const final { return process_.rank(); }
  int size() const final { return process_.size(); }
  std::int64_t t() const final { return t_; }
  Comm& comm() final { return control_ ? process_.control() : process_.comm(); }
  Tasks& tasks() final { return process_.tasks(); }
  Rng rng(Rng::Use use) const final { return {seed_, rank(), t_, use}; }

  // State that is not trained, such as a batch norm's statistics.
  virtual std::span<const FloatView> buffers() = 0;

  void set_t(std::int64_t t) { t_ = t; }
  // Whether an EvaluationPoint is in the training point's place.
  bool evaluating() const { return evaluating_since_.has_value(); }
  // How long there was one, so far.
  Seconds evaluated() const {
    return evaluated_ + (evaluating() ? process_.tasks().clock().now() - *evaluating_since_ : Seconds(0));
  }
  // Makes buffers equal everywhere, at the end of a run. Collective.
  void average_buffers() {
    for (const FloatView b : buffers()) comm().mean(b);
  }

 private:
  friend class EvaluationPoint;
  Process& process_;
  const std::uint64_t seed_;
  std::int64_t t_ = 0;
  std::optional<Seconds> evaluating_since_;
  Seconds evaluated_{0};
  bool control_ = false;  // whether comm() is the control lane, which is counted apart
};

// The strategy's model() and averaged buffers in place of the training point, for as long as it lives. Its
// traffic goes over the control lane: evaluating is not part of what an algorithm costs. Made by all ranks
// together. One at a time.
class EvaluationPoint {
 public:
  EvaluationPoint(ReplicaWorker& worker, Strategy& strategy);
  ~EvaluationPoint();
  EvaluationPoint(const EvaluationPoint&) = delete;
  EvaluationPoint& operator=(const EvaluationPoint&) = delete;

 private:
  ReplicaWorker& worker_;
  Buffer params_;  // the training point
  struct Kept {
    FloatView
        place;  // to compare with alone: a buffer that was given other memory since then is left as it is
    Buffer values;
  };
  std::vector<Kept> buffers_;
};

}  // namespace tacit
