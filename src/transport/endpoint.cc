// SPDX-License-Identifier: MIT
#include "tacit/transport/endpoint.h"

namespace tacit {

std::string describe_wait(int rank, int peer, Tag tag) {
  const std::string whom = peer == kAnyRank ? "any rank" : "rank " + std::to_string(peer);
  return "rank " + std::to_string(rank) + " waits for " + whom + " in " + tag.text();
}

}  // namespace tacit
