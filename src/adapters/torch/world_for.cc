// SPDX-License-Identifier: MIT
#include "tacit/torch/world_for.h"

#include "tacit/core/error.h"

namespace tacit {

WorldOptions world_for(std::string_view strategy, const StrategyRegistry& known) {
  WorldOptions options;
  try {
    options.survive = known.find(strategy).survives;
  } catch (const InvalidConfig&) {
    options.survive = false;
  }
  return options;
}

}  // namespace tacit
