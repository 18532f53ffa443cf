// SPDX-License-Identifier: MIT
// Where the momentum of an inner SGD belongs beside a compressor: the one rule, for `tacit train` and LibTorch loops.
#pragma once

#include <optional>
#include <string>

#include "tacit/strategy/registry.h"

namespace tacit {

// What an SGD was asked for, as far as the rule changes it.
struct SgdSettings {
  double momentum = 0;
  double weight_decay = 0;
  std::optional<bool> nesterov{};  // nothing: its user has not said
};

// Error feedback delivers late, and what comes late and passes through a momentum overshoots (compress/momentum.h).
enum class MomentumPlace {
  kInside,          // the optimiser's, as its user wrote it
  kInsideNesterov,  // the optimiser's, in Nesterov's form: updates are sent both ways, so that it is in front already
  kInFront,  // the compressor's, in Nesterov's form: the optimiser has none
};

// kInFront where gradients are sent with ef and `compress` says nothing about a momentum; momentum=0 there leaves it
// inside.
// kInsideNesterov where updates are sent both ways and the optimiser does not say whether it wants that form.
MomentumPlace momentum_place(Sends sends, const std::string& compress, const SgdSettings& sgd);

// What is then left to the optimiser. A weight decay w becomes w/(1 - momentum) where the momentum has gone: that is
// what it made of every decay in the end.
SgdSettings left_inside(MomentumPlace place, const SgdSettings& sgd);
// What the compressor is then.
std::string with_momentum(MomentumPlace place, const std::string& compress, const SgdSettings& sgd);

// Throws InvalidConfig where `compress` has a momentum and the optimiser, which the message calls `optimizer`, is not
// SGD without one. sgd is nothing for another kind.
void refuse_two_momenta(const std::string& compress, const std::string& optimizer,
                        const std::optional<SgdSettings>& sgd);

}  // namespace tacit
