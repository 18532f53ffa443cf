// SPDX-License-Identifier: MIT
// Who may talk to whom, for algorithms that pick a peer at a time. Pure arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/options.h"

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

// The option `key` with the name of a graph.
inline Graph read_graph(OptionReader& options, const std::string& key, Graph usual, const Meaning& meaning) {
  std::vector<std::string> names;
  std::string usual_name;
  for (const GraphName& each : kGraphNames) {
    names.emplace_back(each.name);
    if (each.which == usual) usual_name = each.name;
  }
  const std::string name = options.choice(key, usual_name, names, meaning);
  return kGraphNames[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())]
      .which;
}

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

// The places that may choose this one: all graphs look the same from every place.
inline std::vector<int> neighbours_towards(Graph graph, int place, int n) {
  std::vector<int> found;
  for (const int distance : neighbours(graph, 0, n)) found.push_back((place + n - distance) % n);
  return found;
}

// How far on the one peer of turn t is: 1, 2, 4, ... places by turns, always less than n. 0 for n = 1.
inline int exponential_hop(std::int64_t t, int n) {
  int turns = 0;
  while ((1 << turns) < n) ++turns;
  return turns == 0 ? 0 : 1 << static_cast<int>(t % turns);
}

}  // namespace tacit
