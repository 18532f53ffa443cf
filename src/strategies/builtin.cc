// SPDX-License-Identifier: MIT
// The table is explicit, so that it works in static libraries, where self-registering objects are dropped.
#include "tacit/strategies/builtin.h"

namespace tacit {

#define TACIT_STRATEGY(name) StrategyInfo name##_info();
#include "strategies/strategies.def"
#undef TACIT_STRATEGY

const StrategyRegistry& builtin_strategies() {
  static const StrategyRegistry registry("strategy", {
#define TACIT_STRATEGY(name) name##_info(),
#include "strategies/strategies.def"
#undef TACIT_STRATEGY
                                                     });
  return registry;
}

}  // namespace tacit
