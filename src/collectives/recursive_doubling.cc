// SPDX-License-Identifier: MIT
// Rounds of growing distance; in each, two partners swap their whole vectors and add.
#include "collectives/algorithms.h"
#include "tacit/core/kernels.h"
#include "topology/butterfly.h"

namespace tacit {
namespace {

constexpr int kFoldIn = 0;  // part numbers: 0, the rounds, then the way back
constexpr int kFirstRound = 1;

// Swaps whole vectors with a partner and adds. Both sides read the old value, so the peer's copy lands beside
// ours.
void swap_and_add(Exchange& with, int partner, FloatView x, FloatView inbox, int part) {
  const Request in = with.receive(partner, inbox, part);
  const Request out = with.send(partner, x, part);
  with.finish(*in, inbox.size_bytes());
  out->wait();
  kernels::add(inbox, x);
}

}  // namespace

void recursive_doubling_all_reduce(Exchange& with, FloatView x, FloatView inbox, float factor) {
  namespace bf = butterfly;
  const int rank = with.rank();
  const int n = with.size();
  const int fold_out = kFirstRound + bf::rounds(n);
  if (bf::is_extra(rank, n)) {
    with.send(bf::stand_in(rank, n), x, kFoldIn)->wait();
    with.finish(*with.receive(bf::stand_in(rank, n), x, fold_out), x.size_bytes());
    return;
  }
  const int extra = bf::charge(rank, n);
  if (extra >= 0) with.add(with.borrow(extra, kFoldIn), x);
  for (int r = 0; r < bf::rounds(n); ++r) swap_and_add(with, bf::partner(rank, r), x, inbox, kFirstRound + r);
  if (factor != 1.0F) kernels::scale(factor, x);
  if (extra >= 0) with.send(extra, x, fold_out)->wait();
}

}  // namespace tacit
