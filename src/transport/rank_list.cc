// SPDX-License-Identifier: MIT
#include "transport/rank_list.h"

namespace tacit {

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMostNamed = 16;
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kMostNamed; ++i) {
    const bool last = i + 1 == ranks.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMostNamed) text += " and " + std::to_string(ranks.size() - kMostNamed) + " more";
  return text;
}

std::string name_ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + list_ranks(ranks);
}

}  // namespace tacit
