// SPDX-License-Identifier: MIT
#include "tacit/strategy/registry.h"

namespace tacit {

std::string why_not(const StrategyInfo& strategy, const Compression& how) {
  switch (strategy.sends) {
    case Sends::kNotCompressed:
      return strategy.name + " has no compressed form; leave --compress out, or use ssgd or local";
    case Sends::kGradients:
      return "";
    case Sends::kDifferences:
      if (how.memory == Memory::kMomentum || how.momentum.value_or(0) > 0)
        return strategy.name +
               " sends how far weights have moved, which has the optimiser's momentum in it already, and "
               "dgc or momentum= would add another; use ef without momentum=";
      return "";
  }
  throw Bug("a strategy that sends nothing known");
}

std::unique_ptr<Strategy> make_strategy(const StrategyRegistry& known, std::string_view spec, int ranks,
                                        std::string_view compress) {
  return known.make(spec, [&](const StrategyInfo& info, OptionReader& options) {
    auto strategy = info.make(options, ranks);
    if (compress.empty()) return strategy;
    const Compression how = Compression::parse(compress);
    if (const std::string reason = why_not(info, how); !reason.empty())
      throw InvalidConfig(info.name + " does not take --compress " + how.text + ": " + reason);
    strategy->compress(how);
    return strategy;
  });
}

}  // namespace tacit
