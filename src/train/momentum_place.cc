// SPDX-License-Identifier: MIT
#include "tacit/train/momentum_place.h"

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {

MomentumPlace momentum_place(Sends sends, const std::string& compress, const SgdSettings& sgd) {
  if (sgd.momentum == 0) return MomentumPlace::kInside;
  if (sends == Sends::kBothWays)
    return sgd.nesterov ? MomentumPlace::kInside : MomentumPlace::kInsideNesterov;
  if (sends != Sends::kGradients || compress.empty()) return MomentumPlace::kInside;
  const Compression how = Compression::parse(compress);
  const bool moves = how.memory == Memory::kErrorFeedback && !how.momentum;
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

std::string with_momentum(MomentumPlace place, const std::string& compress, const SgdSettings& sgd) {
  return place == MomentumPlace::kInFront ? compress + ",momentum=" + exact(sgd.momentum) : compress;
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
