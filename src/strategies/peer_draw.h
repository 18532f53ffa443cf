// SPDX-License-Identifier: MIT
// When to talk to whom, for strategies that talk to one peer at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/options.h"
#include "tacit/strategy/worker.h"
#include "topology/graph.h"

namespace tacit {

struct PeerDraw {
  std::int64_t period = 1;              // steps between exchanges
  std::optional<double> probability{};  // of an exchange at a step, in place of the period
  Graph graph = Graph::kUniform;        // among the ranks that live

  // The options period, probability and peers.
  static PeerDraw read(OptionReader& options) {
    PeerDraw draw;
    draw.period = options.integer("period", 1, 1, kMany, {"steps between exchanges"});
    if (options.given("period") && options.given("probability"))
      throw InvalidConfig(
          "'" + options.spec().text +
          "' gives period and probability; an exchange comes every so many steps or at random, "
          "keep one of the two");
    const double probability =
        options.number("probability", 1, 0, 1, {"of an exchange at a step, in place of period", "none"});
    if (options.given("probability")) draw.probability = probability;
    draw.graph = read_graph(options, "peers", Graph::kUniform, {"whom to draw from"});
    return draw;
  }

  // The peer to talk to after this step; none if no exchange is due or no other rank lives.
  std::optional<int> operator()(Worker& w) const {
    Rng rng = w.rng(Rng::Use::kPeerChoice);
    const bool due =
        probability ? static_cast<double>(rng.uniform()) < *probability : (w.t() + 1) % period == 0;
    if (!due) return std::nullopt;
    const std::vector<int> living = w.comm().living();
    const auto place = std::find(living.begin(), living.end(), w.rank()) - living.begin();
    const std::vector<int> near = neighbours(graph, static_cast<int>(place), static_cast<int>(living.size()));
    if (near.empty()) return std::nullopt;
    return living[static_cast<std::size_t>(near[rng.below(near.size())])];
  }
};

}  // namespace tacit
