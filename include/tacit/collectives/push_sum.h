// SPDX-License-Identifier: MIT
// Vectors that are handed around beside the trainers -- D. Kempe, A. Dobra, J. Gehrke, "Gossip-Based Computation of Aggregate
// Information", FOCS 2003, Protocol Push-Sum.
#pragma once

#include <optional>

#include "tacit/collectives/errand.h"
#include "tacit/collectives/letterbox.h"
#include "tacit/core/state.h"

namespace tacit {

// Every rank has a vector x and a weight w, which begins as 1. What it gives away is half of both; what it gets it adds. So
// the sums of x and of w over all ranks, letters under way included, never change by it, and every z = x / w tends to the
// mean. Between collect() and restore() the caller's vector is z.
//
// kUnweighted is plain averaging on receipt: letters are whole vectors of weight 1, and x becomes the mean of itself and
// them. Nothing is conserved, and z is x.
//
// Threads   the trainer's task.
// Lifetime  close() is collective and comes before the end; comm and tasks outlive it.
class PushSum {
 public:
  enum class Rule { kUnweighted, kWeighted };
  PushSum(Rule rule, Comm& comm, Tasks& tasks, std::uint32_t service, FloatView x)
      : rule_(rule), comm_(comm), out_(x), box_(comm, tasks, service, x) {
    if (rule_ == Rule::kUnweighted) return;
    x_.emplace(x);
    x_->assign(x);
  }

  double weight() const { return weight_; }

  // z becomes x again.
  void restore(FloatView z) const;
  // Gives x to a peer, by half or whole, and returns at once. False where the last letter is still under way: then
  // nothing happens.
  bool give(int peer, FloatView x);
  // Adds what has come; x becomes z.
  void collect(FloatView x);
  // Waits until all letters of all ranks have come, and adds them. Nobody may give any more. Collective.
  void close(FloatView z);
  // z <- the sum of all ranks' x divided by the sum of their w. Collective.
  void mean(Comm& comm, FloatView z) const;

  // Collective; no letter is under way when it is written. What is collected later belongs to the state.
  void save(StateWriter& state);
  void load(StateReader& state);

 private:
  // Ends the last errand, if it is back or has to be. A letter to a rank that is lost comes back.
  void end(FloatView x);

  const Rule rule_;
  Comm& comm_;
  double weight_ = 1;
  std::optional<Twin> x_;  // with weights: what z was made of
  Twin out_;               // the letter under way
  double out_weight_ = 0;
  Letterbox box_;
  Errand errand_;  // last: it ends before what it uses goes away
};

}  // namespace tacit
