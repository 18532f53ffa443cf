// SPDX-License-Identifier: MIT
// Collectives as plain blocking code over Exchange. Each works for every number of ranks from 1 and every
// length from 0, and leaves the same bits on every rank: a chunk is finished by one rank, or both partners
// of a sum compute it from the same two operands (addition commutes).
#pragma once

#include <span>
#include <vector>

#include "collectives/exchange.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/views.h"

namespace tacit {

// x <- factor * (sum of x over all ranks). inbox is scratch memory as long as x.
void recursive_doubling_all_reduce(Exchange& with, FloatView x, FloatView inbox, float factor);
// x <- factor * (sum of x over all ranks).
void halving_doubling_all_reduce(Exchange& with, FloatView x, float factor);

// x[chunk(rank)] <- factor * sum; the other chunks of x are left in an unspecified state.
void direct_reduce_scatter(Exchange& with, FloatView x, float factor);
void ring_reduce_scatter(Exchange& with, FloatView x, float factor);

// Every rank's x[chunk(rank)] reaches all.
void direct_all_gather(Exchange& with, FloatView x);
void ring_all_gather(Exchange& with, FloatView x);

// out[r] of every speaker goes to rank r; take gets what came in the order of the ranks.
void direct_some_to_all(Exchange& with, const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                        const Take& take);

// Root's x reaches all, down a binomial tree.
void tree_broadcast(Exchange& with, Bytes x, int root);

// The direct algorithm on a part of a vector, in steps, so that parts can overlap: while one waits for its sums, the
// next one's chunks are on their way. Every step is called once, in this order.
//
// Lifetime  x stays as it is between the steps. Dropping one on the way out of an error gives its loans back first.
class DirectPart {
 public:
  DirectPart(Exchange with, FloatView x);
  void begin_reduce();            // chunk r of every rank goes to rank r
  void end_reduce(float factor);  // which adds them
  void begin_gather();            // and sends the sum back
  void end_gather();
  void end_sends();  // in place of the gathering: the buffer is the caller's again

 private:
  FloatView chunk_of(int rank) const;

  Exchange with_;
  FloatView x_;
  std::vector<int> peers_;
  std::vector<Request> outgoing_;
  std::vector<Request> incoming_;  // after outgoing_: dropped before it
};

// Nobody leaves before all have entered: ceil(log2 P) rounds of empty messages (dissemination).
void dissemination_barrier(Exchange& with);

}  // namespace tacit
