// SPDX-License-Identifier: MIT
// Sums in groups that do not wait for the slow: the wait-avoiding group all-reduce of WAGMA-SGD, arXiv:2005.00124.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "protocols/board.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/state.h"

namespace tacit {

class KeptPart;  // protocols/kept_part.h
class SumTask;   // protocols/sum_task.h

// What a rank that comes late to a sum does with its own vector x, of which something older is in the sum.
enum class Late {
  kAdd,   // what x has moved by since the last sum, on top of the mean: x <- sum/S + (x - before)
  kMean,  // x as one more member: x <- (sum + x) / (S + 1), the rule of the paper
};

// Sums are numbered 0, 1, 2, ... Whoever comes to one first activates it on all ranks (activation.h). From then on a
// task of every rank runs it, while its trainer computes (SumTask), with what the rank has there: what its trainer gave
// last or, with Late::kAdd, the mean of that and of the sums that were run since. A trainer that comes late to one
// takes the newest that its rank has run, once; where it has had that one already, x stays as it is.
//
// Conserved   with Late::kAdd the sum over all ranks of what they have there: a sum replaces it by the group's mean,
//             and a trainer adds to it what it moved x by. So no move of any rank is lost or counted twice, however
//             late.
// Losses      where the world goes on without a lost rank, groups are made of those that live, and from then on a rank
//             reads the newest vectors of its group off their boards. No rank needs to know what another one believes
//             about who is alive, which ranks learn at different times.
// Memory      beside the board's copies, three vectors at most.
// Threads     the trainer's task.
// Lifetime    close() is collective and comes before the end; comm and tasks outlive it.
class GroupSums {
 public:
  // The places of [0, n) that sum number `number` adds, `place` among them, ascending; alike on all ranks.
  using Groups = std::function<std::vector<int>(int place, int n, std::int64_t number)>;

  struct Manner {
    Late late = Late::kAdd;
    double patience = 0;  // Activation::Manner
  };

  // x is given to sums until the first next().
  GroupSums(Comm& comm, Tasks& tasks, FloatView x, Groups groups, Manner manner);
  ~GroupSums();
  GroupSums(const GroupSums&) = delete;
  GroupSums& operator=(const GroupSums&) = delete;

  // Gives x to the next sum and leaves the mean of its group in x. Where this rank has run that sum or a newer one
  // already, by the rule for the late; otherwise activates it and waits for the rest of the group, whose trainers may
  // be anywhere.
  void next(FloatView x);
  // What the rank has there becomes x, between two sums.
  void refresh(FloatView x);

  void close();

  // Both are collective, between two sums.
  void save(StateWriter& state) const;
  void load(StateReader& state);
  // How many next() have been, the same on every rank between two steps; and for a rank that has come back and was told
  // so: it goes on with these and its x. Not collective. Such a world reads boards.
  std::int64_t made() const { return number_; }
  void rejoin(std::int64_t made, ConstFloatView x);

 private:
  bool done(const std::function<void(SumTask&)>& job);
  void read_boards(std::int64_t number, FloatView x);

  Comm& comm_;
  std::int64_t number_ = 0;  // of the next sum
  bool reading_;             // a rank was lost: boards in place of sums
  Board board_;              // what the trainer gave last
  const std::unique_ptr<KeptPart> part_;
  const std::unique_ptr<SumTask> task_;  // after what it uses
};

}  // namespace tacit
