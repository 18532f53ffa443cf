// SPDX-License-Identifier: MIT
#include "means/momentum_place.h"

#include "tacit/core/error.h"

namespace tacit {

MomentumPlace momentum_place(Sends sends, const std::optional<Compression>& how, const SgdSettings& sgd) {
  if (sgd.momentum == 0) return MomentumPlace::kInside;
  if (sends == Sends::kBothWays)
    return sgd.nesterov ? MomentumPlace::kInside : MomentumPlace::kInsideNesterov;
  const bool gradients = sends == Sends::kGradients || sends == Sends::kPushes;
  const bool moves = gradients && how && how->memory == Memory::kErrorFeedback && !how->momentum;
  return moves ? MomentumPlace::kInFront : MomentumPlace::kInside;
}

SgdSettings left_inside(MomentumPlace place, const SgdSettings& sgd) {
  switch (place) {
    case MomentumPlace::kInside:
      return sgd;
    case MomentumPlace::kInsideNesterov:
      return {sgd.momentum, sgd.weight_decay, true};
    case MomentumPlace::kInFront:
      return {0, sgd.weight_decay / (1 - sgd.momentum), false};
  }
  throw Bug("a momentum in no place");
}

void refuse_two_momenta(const std::string& compress, const std::string& optimizer,
                        const std::optional<SgdSettings>& sgd) {
  if (compress.empty() || Compression::parse(compress).momentum.value_or(0) == 0) return;
  if (sgd && sgd->momentum == 0) return;
  throw InvalidConfig("the compressor " + compress +
                      " has a momentum, behind which stands SGD without one, and " + optimizer +
                      " is not that; use it, or write ef and no momentum=, which takes the momentum of SGD");
}

}  // namespace tacit
