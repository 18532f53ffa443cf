// SPDX-License-Identifier: MIT
#include "topology/ring.h"

#include <utility>

#include "collectives/algorithms.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {

void ring_reduce_scatter(Exchange& with, FloatView x, float factor) {
  const int rank = with.rank();
  const int n = with.size();
  for (int s = 0; s + 1 < n; ++s) {
    const auto [send, receive] = ring::reduce_scatter(rank, n, s);
    const FloatView mine = part(x, chunk(x.size(), n, receive));
    Request in = with.borrow(ring::prev(rank, n), s);
    const Request out = with.send(ring::next(rank, n), part(x, chunk(x.size(), n, send)), s);
    with.add(std::move(in), mine);
    out->wait();
  }
  kernels::scale(factor, part(x, chunk(x.size(), n, rank)));
}

void ring_all_gather(Exchange& with, FloatView x) {
  const int rank = with.rank();
  const int n = with.size();
  for (int s = 0; s + 1 < n; ++s) {
    const auto [send, receive] = ring::all_gather(rank, n, s);
    const FloatView theirs = part(x, chunk(x.size(), n, receive));
    const Request in = with.receive(ring::prev(rank, n), theirs, n + s);
    const Request out = with.send(ring::next(rank, n), part(x, chunk(x.size(), n, send)), n + s);
    with.finish(*in, theirs.size_bytes());
    out->wait();
  }
}

}  // namespace tacit
