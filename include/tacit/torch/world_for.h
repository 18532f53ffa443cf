// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tacit/strategies/builtin.h"
#include "tacit/world/world.h"

namespace tacit {

// The world that a strategy wants, as `tacit train` opens it: one that goes on without ranks that are lost where the
// strategy can (StrategyInfo::survives), and else one that ends with the first loss. For tacit::main; a name that nobody
// knows is for Replicated to refuse, on every rank and in words.
WorldOptions world_for(std::string_view strategy, const StrategyRegistry& known = builtin_strategies());

}  // namespace tacit
