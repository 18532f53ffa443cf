// SPDX-License-Identifier: MIT
// What --compress means together with --strategy and --optimizer.
#include "means/momentum_place.h"
#include "tacit/train/trainer.h"
#include "train/optimizer.h"

namespace tacit {

void check_compression(const TrainOptions& options, const StrategyRegistry& strategies, int ranks) {
  make_strategy(strategies, options.strategy, ranks, options.compress);
  refuse_two_momenta(options.compress, "the optimiser " + options.optimizer,
                     make_optimizer(options.optimizer)->sgd());
}

}  // namespace tacit
