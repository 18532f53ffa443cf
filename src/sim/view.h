// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tacit/transport/fabric.h"
#include "transport/departure_news.h"

namespace tacit::sim {

enum class Presence { kHere, kDone, kFailed };

// What a rank knows of the ranks, itself included.
struct View {
  explicit View(std::size_t ranks) : presence(ranks), departures(ranks), given_up(ranks) {}

  bool here(int rank) const { return presence[static_cast<std::size_t>(rank)] == Presence::kHere; }
  bool failing(int rank) const { return presence[static_cast<std::size_t>(rank)] == Presence::kFailed; }
  std::vector<Loss> losses() const {
    std::vector<Loss> all;
    for (std::size_t rank = 0; rank < presence.size() && failed != kAnyRank; ++rank)
      if (presence[rank] == Presence::kFailed) all.push_back({static_cast<int>(rank), departures[rank].why});
    return all;
  }

  std::vector<Presence> presence;
  std::vector<Departure> departures;
  std::vector<bool> given_up;  // for silence: what is under way from it is not waited for
  int failed = kAnyRank;       // a rank that failed, if one did
  DepartureNews news{};
};

}  // namespace tacit::sim
