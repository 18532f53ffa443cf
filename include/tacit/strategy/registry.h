// SPDX-License-Identifier: MIT
// Strategies by name. A registry is a value: programs copy the built-in one and add their own.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/options.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

struct StrategyInfo {
  std::string name;     // as in strategies.def
  std::string summary;  // one line
  std::string paper;
  // Reads its options and builds one rank's strategy in a world of so many ranks. Throws InvalidConfig.
  std::function<std::unique_ptr<Strategy>(OptionReader& options, int ranks)> make;
};

class StrategyRegistry {
 public:
  explicit StrategyRegistry(std::span<const StrategyInfo> infos);

  // Throws InvalidConfig where the name is taken.
  void add(StrategyInfo info);
  std::span<const StrategyInfo> all() const { return infos_; }
  std::vector<std::string> names() const;

  // `local:period=8`. Throws InvalidConfig for an unknown name (with the nearest known one) or option.
  std::unique_ptr<Strategy> make(std::string_view spec, int ranks) const;

 private:
  const StrategyInfo* find(std::string_view name) const;
  std::vector<StrategyInfo> infos_;
};

}  // namespace tacit
