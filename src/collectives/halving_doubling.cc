// SPDX-License-Identifier: MIT
// R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004: a reduce-scatter by
// recursive halving, then an all-gather by recursive doubling back along the same partners.
#include <utility>

#include "collectives/algorithms.h"
#include "tacit/core/kernels.h"
#include "topology/butterfly.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

namespace bf = butterfly;

// Of the range held in a round, the half that stays here and the half that is the partner's.
struct Halves {
  FloatView mine;
  FloatView theirs;
};

Halves split(FloatView x, int rank, int n, int round) {
  const int parts = bf::core_size(n);
  const bf::Range range = bf::held(rank, n, round);
  const FloatView low = part(x, chunks(x.size(), parts, range.first, range.middle()));
  const FloatView high = part(x, chunks(x.size(), parts, range.middle(), range.last));
  return rank < range.middle() ? Halves{low, high} : Halves{high, low};
}

void halve(Exchange& with, FloatView x, int round) {
  const int partner = bf::halving_partner(with.rank(), with.size(), round);
  const auto [mine, theirs] = split(x, with.rank(), with.size(), round);
  Request in = with.borrow(partner, 1 + round);
  const Request out = with.send(partner, theirs, 1 + round);
  with.add(std::move(in), mine);
  out->wait();
}

void double_back(Exchange& with, FloatView x, int round) {
  const int part = 1 + 2 * bf::rounds(with.size()) - round;
  const int partner = bf::halving_partner(with.rank(), with.size(), round);
  const auto [mine, theirs] = split(x, with.rank(), with.size(), round);
  const Request in = with.receive(partner, theirs, part);
  const Request out = with.send(partner, mine, part);
  with.finish(*in, theirs.size_bytes());
  out->wait();
}

}  // namespace

void halving_doubling_all_reduce(Exchange& with, FloatView x, float factor) {
  const int rank = with.rank();
  const int n = with.size();
  const int rounds = bf::rounds(n);
  const int fold_out = 2 + 2 * rounds;
  if (bf::is_extra(rank, n)) {
    with.send(bf::stand_in(rank, n), x, 0)->wait();
    with.finish(*with.receive(bf::stand_in(rank, n), x, fold_out), x.size_bytes());
    return;
  }
  const int extra = bf::charge(rank, n);
  if (extra >= 0) with.add(with.borrow(extra, 0), x);
  for (int r = 0; r < rounds; ++r) halve(with, x, r);
  kernels::scale(factor, part(x, chunk(x.size(), bf::core_size(n), rank)));
  for (int r = rounds; r-- > 0;) double_back(with, x, r);
  if (extra >= 0) with.send(extra, x, fold_out)->wait();
}

}  // namespace tacit
