// SPDX-License-Identifier: MIT
#include "tacit/transport/endpoint.h"

#include "tacit/core/error.h"

namespace tacit {

void Endpoint::survive() {
  throw InvalidConfig(
      "this transport ends all ranks with the first that fails; a run that goes on without a lost rank "
      "needs threads, TCP or the virtual cluster");
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

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an error of unknown type";
  }
}

}  // namespace tacit
