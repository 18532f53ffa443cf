// SPDX-License-Identifier: MIT
// Where the momentum of an inner SGD belongs beside a compressor: the one rule, which is applied where means are made
// (ReplicaWorker::make_mean), for `tacit train` and LibTorch loops alike.
#pragma once

#include <optional>
#include <string>

#include "tacit/strategy/mean.h"
#include "tacit/strategy/optimizer.h"

namespace tacit {

// Error feedback delivers late, and what comes late and passes through a momentum overshoots (compress/momentum.h).
// kInFront where gradients are sent with ef and the compressor says nothing about a momentum; momentum=0 there leaves it
// inside.
// kInsideNesterov where updates are sent both ways and the optimiser does not say whether it wants that form.
MomentumPlace momentum_place(Sends sends, const std::optional<Compression>& how, const SgdSettings& sgd);

// What is then left to the optimiser. A weight decay w becomes w/(1 - momentum) where the momentum has gone: that is
// what it made of every decay in the end.
SgdSettings left_inside(MomentumPlace place, const SgdSettings& sgd);

// Throws InvalidConfig where `compress` has a momentum and the optimiser, which the message calls `optimizer`, is not
// SGD without one. sgd is nothing for another kind.
void refuse_two_momenta(const std::string& compress, const std::string& optimizer,
                        const std::optional<SgdSettings>& sgd);

}  // namespace tacit
