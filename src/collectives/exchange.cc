// SPDX-License-Identifier: MIT
#include "collectives/exchange.h"

#include "tacit/core/error.h"

namespace tacit {

void Exchange::check(const Arrival& arrival, std::size_t bytes) const {
  if (arrival.data.size() == bytes) return;
  throw Mismatch("rank " + std::to_string(rank()) + " expected " + std::to_string(bytes) +
                 " bytes from rank " + std::to_string(arrival.peer) + " in " + tag(0).text() +
                 " and was sent " + std::to_string(arrival.data.size()) +
                 "; do all ranks train the same model?");
}

}  // namespace tacit
