// SPDX-License-Identifier: MIT
// Who keeps what a lost rank kept. Pure arithmetic.
//
// Of the ranks that live the one that came first does, and of those the next from the first place on, upwards and round.
// Whoever comes later comes with a larger number, so that a keeper changes when it is lost and at no other time; and
// ranks that agree on who lives agree on the keeper.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tacit {

// `living` is in ascending order and not empty; entry(rank) says when a rank came, 0 with the first.
template <class Entry>
int keeper(int first_place, std::span<const int> living, const Entry& entry) {
  const auto first =
      static_cast<std::size_t>(std::lower_bound(living.begin(), living.end(), first_place) - living.begin());
  int best = living[first % living.size()];
  for (std::size_t i = 1; i < living.size() && entry(best) > 0; ++i)
    if (const int next = living[(first + i) % living.size()]; entry(next) < entry(best)) best = next;
  return best;
}

}  // namespace tacit
