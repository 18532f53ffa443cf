// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tacit/core/rng.h"

namespace tacit {

// The same order for the same draws on every machine: what std::shuffle draws is its library's choice.
template <class Sequence>
void shuffle(Sequence& values, Rng& rng) {
  for (auto left = values.size(); left > 1; --left) std::swap(values[left - 1], values[rng.below(left)]);
}

}  // namespace tacit
