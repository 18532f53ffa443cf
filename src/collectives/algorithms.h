// SPDX-License-Identifier: MIT
// Collectives as plain blocking code over Exchange. Each works for every number of ranks from 1 and every
// length from 0, and leaves the same bits on every rank: a chunk is finished by one rank, or both partners
// of a sum compute it from the same two operands (addition commutes).
#pragma once

#include <functional>
#include <vector>

#include "collectives/exchange.h"
#include "tacit/collectives/collectives.h"
#include "tacit/core/views.h"

namespace tacit {

// x <- factor * (sum of x over all ranks). inbox is scratch memory as long as x.
void recursive_doubling_all_reduce(Exchange& with, FloatView x, FloatView inbox, float factor);
// x <- factor * (sum of x over all ranks).
void halving_doubling_all_reduce(Exchange& with, FloatView x, float factor);

// x <- factor * (sum of x over all ranks), in one piece.
void direct_all_reduce(Exchange& with, FloatView x, float factor);
// The same for each of `parts`, in segments, each an exchange of its own, which `exchange` gives.
void segmented_all_reduce(const std::function<Exchange()>& exchange, const NextPart& parts, float factor);

// x[chunk(rank)] <- factor * sum; the other chunks of x are left in an unspecified state.
void direct_reduce_scatter(Exchange& with, FloatView x, float factor);
void ring_reduce_scatter(Exchange& with, FloatView x, float factor);

// Every rank's x[chunk(rank)] reaches all.
void direct_all_gather(Exchange& with, FloatView x);
void ring_all_gather(Exchange& with, FloatView x);

// Root's x reaches all, down a binomial tree.
void tree_broadcast(Exchange& with, Bytes x, int root);

// Peers of a rank, beginning with its successor, so that not all ranks write to rank 0 first.
std::vector<int> peers_of(int rank, int n);

// Nobody leaves before all have entered: ceil(log2 P) rounds of empty messages (dissemination).
void dissemination_barrier(Exchange& with);

}  // namespace tacit
