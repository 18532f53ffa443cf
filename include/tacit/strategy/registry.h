// SPDX-License-Identifier: MIT
// Strategies by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tacit/core/registry.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

struct StrategyInfo {
  std::string name;     // as in strategies.def
  std::string summary;  // one line
  std::string paper;
  std::string example;  // as a user writes it, with an option
  // Reads its options and builds one rank's strategy in a world of so many ranks. Throws InvalidConfig.
  std::function<std::unique_ptr<Strategy>(OptionReader& options, int ranks)> make;
  Sends sends = Sends::kNotCompressed;
  // Ranks wait for nobody, so that a run depends on who is faster: the same seed gives the same bits in virtual time
  // alone.
  bool asynchronous = false;
  // Goes on without ranks that fail, in a world that does (WorldOptions::survive).
  bool survives = false;
  // A step ends with Worker::apply, of the same gradient on every rank: weights are equal between steps, and whoever
  // calls step() may put off what apply() does.
  bool applies_last = false;
  // Has weights of its own from start() on, which take the place of params(): other weights that a user writes into
  // the module later would be lost.
  bool keeps_weights = false;
  // Begins to exchange a gradient before all of it is computed: Strategy::ready.
  bool overlaps = false;
  // Sends::kNotCompressed: why, as it is said behind its name.
  std::string why_not_compressed{};
};
using StrategyRegistry = Registry<StrategyInfo>;

// Why this strategy does not take this compressor; empty where it does. The one table of what is legal, which
// `tacit list --legal` prints.
std::string why_not(const StrategyInfo& strategy, const Compression& how);
std::string why_not(const std::string& strategy, Sends sends, const Compression& how);

// Reads a strategy's own options and those that all strategies take (braking), and builds one rank's.
std::unique_ptr<Strategy> make_strategy(const StrategyInfo& info, OptionReader& options, int ranks);

// `local:period=8`, for one rank of so many. Throws InvalidConfig, also where it does not take the run's compressor (""
// or `topk:ratio=0.01,ef`), which its means have from the Worker.
std::unique_ptr<Strategy> make_strategy(const StrategyRegistry& known, std::string_view spec, int ranks,
                                        std::string_view compress = "");

}  // namespace tacit
