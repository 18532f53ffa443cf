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
  // Reads its options and builds one rank's strategy in a world of so many ranks. Throws InvalidConfig.
  std::function<std::unique_ptr<Strategy>(OptionReader& options, int ranks)> make;
};
using StrategyRegistry = Registry<StrategyInfo>;

// `local:period=8`, for one rank of so many. Throws InvalidConfig.
inline std::unique_ptr<Strategy> make_strategy(const StrategyRegistry& known, std::string_view spec,
                                               int ranks) {
  return known.make(spec, [&](const StrategyInfo& info, OptionReader& o) { return info.make(o, ranks); });
}

}  // namespace tacit
