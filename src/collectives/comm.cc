// SPDX-License-Identifier: MIT
#include "tacit/collectives/comm.h"

#include "tacit/core/error.h"

namespace tacit {

int Collectives::head() const {
  std::vector<int> ranks = living();
  sort_by_entry(ranks, [this](int rank) { return entry(rank); });
  return ranks.front();
}

std::int64_t Comm::admit(int, std::uint32_t) { throw Bug("this world takes back no ranks"); }
void Comm::enter(std::int64_t) { throw Bug("this world takes back no ranks"); }

}  // namespace tacit
