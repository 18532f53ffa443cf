// SPDX-License-Identifier: MIT
#include "transport/tcp/lobby.h"

#include "tacit/core/text.h"

namespace tacit {

std::string Lobby::of_another_job(const Hello& hello) const {
  const std::string who = "rank " + std::to_string(hello.rank);
  if (hello.job != job_)
    return who + " belongs to job '" + shown(hello.job) + "' and not to '" + job_ +
           "'; two jobs share one meeting point";
  if (hello.size != size_)
    return who + " was told that there are " + std::to_string(hello.size) + " ranks, and rank " +
           std::to_string(host_) + " that there are " + std::to_string(size_) +
           "; start all with the same size";
  return {};
}

std::string Lobby::objection_to_return(const Hello& hello) const {
  if (std::string other = of_another_job(hello); !other.empty()) return other;
  if (hello.rank < 0 || hello.rank >= size_ || hello.rank == host_)
    return "there is no rank " + std::to_string(hello.rank) + " to come back to rank " +
           std::to_string(host_) + " of " + std::to_string(size_);
  return {};
}

std::string Lobby::objection(const Hello& hello) const {
  if (std::string other = of_another_job(hello); !other.empty()) return other;
  if (hello.rank <= host_ || hello.rank >= size_)
    return "there is no rank " + std::to_string(hello.rank) + " to come in at rank " + std::to_string(host_) +
           " of " + std::to_string(size_);
  if (guests_.contains(hello.rank))
    return "rank " + std::to_string(hello.rank) +
           " is here already; two processes were started with one rank";
  return {};
}

std::vector<int> Lobby::missing() const {
  std::vector<int> ranks;
  for (int rank = host_ + 1; rank < size_; ++rank)
    if (!guests_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

}  // namespace tacit
