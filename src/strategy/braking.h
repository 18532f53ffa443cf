// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tacit/core/options.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

// The option `braking` of every strategy that applies gradients: rho; 0 where there is none.
double read_braking(OptionReader& options);

// The strategy, of which every gradient that an optimiser applies is braked first.
std::unique_ptr<Strategy> with_braking(std::unique_ptr<Strategy> strategy, double rho);

}  // namespace tacit
