// SPDX-License-Identifier: MIT
// Vectors that are handed around beside the trainers -- D. Kempe, A. Dobra, J. Gehrke, "Gossip-Based Computation of
// Aggregate Information", FOCS 2003, Protocol Push-Sum.
#pragma once

#include "protocols/errand.h"
#include "protocols/letterbox.h"
#include "tacit/core/state.h"

namespace tacit {

// Every rank has a vector z and a weight w, which begins as 1. What it gives away is half of x = w z and of w; what it
// gets it adds to both. So the sums of w z and of w over all ranks, letters under way included, never change by it, and
// every z tends to their quotient: the mean.
//
// kUnweighted is plain averaging on receipt: letters are whole vectors of weight 1, and z becomes the mean of itself
// and them. Nothing is conserved.
//
// Threads   the trainer's task.
// Lifetime  close() is collective and comes before the end; comm and tasks outlive it.
class PushSum {
 public:
  enum class Rule { kUnweighted, kWeighted };
  PushSum(Rule rule, Comm& comm, Tasks& tasks, FloatView like)
      : rule_(rule), comm_(comm), out_(like), box_(comm, tasks, like), errand_(comm) {}

  double weight() const { return weight_; }

  // Gives to a peer and returns at once. False where the last letter is still under way: then nothing happens.
  bool give(int peer, FloatView z);
  // Adds what has come.
  void collect(FloatView z);
  // Waits until all letters of all ranks have come, and adds them. Nobody may give any more. Collective.
  void close(FloatView z);
  // z <- the sum of all ranks' w z divided by the sum of their w. Collective.
  void mean(Collectives& comm, FloatView z) const;

  // Collective; no letter is under way when it is written. What has come and is not collected belongs to the state.
  void save(StateWriter& state);
  void load(StateReader& state);

 private:
  // Adds x of this weight to w z.
  void add(ConstFloatView x, double weight, FloatView z);
  // Ends the last errand, if one is out. What was given to a rank that is lost comes back.
  void end(FloatView z);

  const Rule rule_;
  Comm& comm_;
  double weight_ = 1;
  Buffer out_;  // the letter under way
  double out_weight_ = 0;
  Letterbox box_;
  Errand errand_;  // last: it ends before what it uses goes away
};

}  // namespace tacit
