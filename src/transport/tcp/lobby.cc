// SPDX-License-Identifier: MIT
#include "transport/tcp/lobby.h"

#include "tacit/core/text.h"

namespace tacit {

std::string Lobby::objection(const Hello& hello) const {
  const std::string who = "rank " + std::to_string(hello.rank);
  if (hello.job != job_)
    return who + " belongs to job '" + shown(hello.job) + "' and not to '" + job_ +
           "'; two jobs share one meeting point";
  if (hello.size != size_)
    return who + " was told that there are " + std::to_string(hello.size) + " ranks, and rank " +
           std::to_string(host_) + " that there are " + std::to_string(size_) +
           "; start all with the same size";
  if (hello.rank <= host_ || hello.rank >= size_)
    return "there is no rank " + std::to_string(hello.rank) + " to come in at rank " + std::to_string(host_) +
           " of " + std::to_string(size_);
  if (guests_.contains(hello.rank)) return who + " is here already; two processes were started with one rank";
  return {};
}

std::vector<int> Lobby::missing() const {
  std::vector<int> ranks;
  for (int rank = host_ + 1; rank < size_; ++rank)
    if (!guests_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

}  // namespace tacit
