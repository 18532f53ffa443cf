// SPDX-License-Identifier: MIT
#include "tacit/transport/endpoint.h"

#include <algorithm>

#include "tacit/core/error.h"

namespace tacit {

void Endpoint::survive() {
  throw InvalidConfig(
      "this transport ends all ranks with the first that fails; a run that goes on without a lost rank "
      "needs threads, TCP or the virtual cluster");
}

bool any_ready(std::span<Operation* const> any) {
  return std::any_of(any.begin(), any.end(), [](Operation* each) { return each->ready(); });
}

std::vector<int> living(const Endpoint& endpoint) {
  std::vector<int> ranks;
  for (int rank = 0; rank < endpoint.size(); ++rank)
    if (endpoint.here(rank)) ranks.push_back(rank);
  const int own = endpoint.rank();
  if (std::binary_search(ranks.begin(), ranks.end(), own)) return ranks;
  const std::vector<Loss> losses = endpoint.losses();
  const auto found = std::find_if(losses.begin(), losses.end(), [&](const Loss& l) { return l.rank == own; });
  throw PeerLost(own, own, found == losses.end() ? "it has left" : found->why);
}

std::string describe_wait(int rank, int peer, Tag tag) {
  const std::string whom = peer == kAnyRank ? "any rank" : "rank " + std::to_string(peer);
  return "rank " + std::to_string(rank) + " waits for " + whom + " in " + tag.text();
}

void refuse_length(int rank, const Arrival& arrival, std::size_t expected) {
  throw Mismatch("rank " + std::to_string(rank) + " expected " + std::to_string(expected) +
                 " bytes from rank " + std::to_string(arrival.peer) + " in " + arrival.tag.text() +
                 " and was sent " + std::to_string(arrival.data.size()) +
                 "; do all ranks train the same model?");
}

}  // namespace tacit
