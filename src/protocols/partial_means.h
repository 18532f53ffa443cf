// SPDX-License-Identifier: MIT
// Means over all ranks that do not wait for the slow: the partial all-reduce of eager-SGD, arXiv:1908.04207.
#pragma once

#include <memory>

#include "protocols/activation.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/state.h"
#include "tacit/strategy/worker.h"

namespace tacit {

class SumTask;  // protocols/sum_task.h

// Means are numbered 0, 1, 2, ... Once one is activated, by whom its Activation::By says, a task of every rank runs it
// while its trainer computes, with what its trainer has given and no mean has had: nothing, perhaps, which is zero.
// Every mean is the same on all ranks, which can take each of them once, in their order.
//
// In parts    a vector of which parts are ready before the rest may begin with the first: then all of it will be in the
//             mean, or none of it where that has run already. So a rank's vectors are in means as wholes, and a mean waits
//             for the rest of those that had begun when it came to this rank, as it would for a slow link; for nobody else.
// Conserved   what ranks have given is, divided by P, in the means or still unsent: nothing is lost or sent twice.
// Bits        those of Collectives::mean, part by part.
// Memory      two vectors, and one for each mean that the trainer was ever behind by.
// Threads     the trainer's task.
// Lifetime    close() is collective and comes before the end; comm and tasks outlive it.
class PartialMeans {
 public:
  // Of vectors like w.gradient(), in parts as w.buckets() are. The seed of Activation::By::kDrawn is equal on all ranks.
  PartialMeans(Worker& w, std::uint64_t seed);
  ~PartialMeans();
  PartialMeans(const PartialMeans&) = delete;
  PartialMeans& operator=(const PartialMeans&) = delete;

  // Adds x to what is unsent and comes to the next mean. Where that has run already, x will be in a later one;
  // otherwise waits for it. `by` is equal on all ranks.
  void next(FloatView x, Activation::By by);
  // This part of x is ready, the next of the buckets: x comes to the next mean with the first, does not wait, and is the
  // mean's until next(), which follows with the same x when all parts are there.
  void begin(FloatView x, Slice part, Activation::By by);
  // out <- the oldest mean that was run here and not taken; false where there is none.
  bool take(FloatView out);
  // Whether some of what was given here is in no mean yet. Between two means, when no rank has come to the next.
  bool unsent() const;

  void close();

  // Both are collective, between two means, all of which have been taken.
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  class TakenPart;

  Comm& comm_;
  std::int64_t number_ = 0;  // of the next mean
  std::size_t begun_ = 0;    // parts that it has been given
  const std::unique_ptr<TakenPart> part_;
  const std::unique_ptr<SumTask> task_;  // after what it uses
};

}  // namespace tacit
