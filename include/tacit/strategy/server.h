// SPDX-License-Identifier: MIT
// The classic parameter server: it keeps the weights and moves them by the mean of what workers push.
#pragma once

#include <memory>

#include "tacit/collectives/shards.h"
#include "tacit/core/channel.h"
#include "tacit/strategy/optimizer.h"

namespace tacit {

// A shard of weights. When all ranks have pushed step t, their mean gradient moves the weights; a pull of step t
// answers with the weights after that and before step t+1, so that a rank asks for them before it pushes the next step.
//
// rates  eta_0, eta_1, ...: the trainer of the shard's rank puts one in before it pushes. Must outlive the rule.
std::unique_ptr<ShardRule> make_server_rule(int ranks, FloatView weights,
                                            std::unique_ptr<Optimizer> optimizer, Channel<float>& rates);

}  // namespace tacit
