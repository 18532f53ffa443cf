// SPDX-License-Identifier: MIT
#include <bit>
#include <vector>

#include "collectives/algorithms.h"

namespace tacit {

void tree_broadcast(Exchange& with, Bytes x, int root) {
  const int n = with.size();
  const int place = (with.rank() - root + n) % n;  // in a tree whose root is 0
  const auto at = [&](int i) { return (i + root) % n; };
  int reach = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
  if (place != 0) {
    const int low = place & -place;  // the parent lacks the lowest bit
    with.finish(*with.receive(at(place - low), x, 0), x.size());
    reach = low;
  }
  std::vector<Request> down;
  for (int step = reach / 2; step > 0; step /= 2)
    if (place + step < n) down.push_back(with.send(at(place + step), ConstBytes(x), 0));
  for (const Request& child : down) child->wait();
}

void dissemination_barrier(Exchange& with) {
  const int n = with.size();
  int round = 0;
  for (int distance = 1; distance < n; distance *= 2, ++round) {
    const Request in = with.receive((with.rank() - distance + n) % n, Bytes(), round);
    const Request out = with.send((with.rank() + distance) % n, ConstBytes(), round);
    in->wait();
    out->wait();
  }
}

}  // namespace tacit
