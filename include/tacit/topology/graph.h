// SPDX-License-Identifier: MIT
// Who may talk to whom, for algorithms that pick a peer at a time. Pure arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tacit {

enum class Graph {
  kUniform,      // everybody
  kRing,         // the two neighbours
  kExponential,  // those 1, 2, 4, 8, ... places further on
};

struct GraphName {
  Graph which;
  std::string_view name;
};
inline constexpr std::array<GraphName, 3> kGraphNames{{
    {Graph::kUniform, "uniform"},
    {Graph::kRing, "ring"},
    {Graph::kExponential, "exponential"},
}};

// The places that one of n may choose from, without itself, each once. Nobody for n = 1.
inline std::vector<int> neighbours(Graph graph, int place, int n) {
  std::vector<int> found;
  const auto add = [&](int at) {
    if (at != place && std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
  };
  switch (graph) {
    case Graph::kUniform:
      for (int at = 0; at < n; ++at) add(at);
      break;
    case Graph::kRing:
      add((place + 1) % n);
      add((place + n - 1) % n);
      break;
    case Graph::kExponential:
      for (int distance = 1; distance < n; distance *= 2) add((place + distance) % n);
      break;
  }
  return found;
}

}  // namespace tacit
