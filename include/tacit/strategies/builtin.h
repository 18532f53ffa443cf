// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/strategy/registry.h"

namespace tacit {

// Every line of src/strategies/strategies.def.
const StrategyRegistry& builtin_strategies();

}  // namespace tacit
