// SPDX-License-Identifier: MIT
// What --compress means together with --strategy and --optimizer.
#include "tacit/core/text.h"
#include "tacit/train/momentum_place.h"
#include "tacit/train/trainer.h"

namespace tacit {
namespace {

// Nothing where the optimiser is another.
std::optional<SgdSettings> sgd_settings(const std::string& spec) {
  OptionReader options(Spec::parse(spec));
  if (options.spec().name != "sgd") return std::nullopt;
  // Bounds and meanings are those of optimizer.cc, which has read them before.
  SgdSettings sgd{options.number("momentum", 0, 0, 1, {}), options.number("weight_decay", 0, 0, 1e9, {})};
  if (options.given("nesterov")) sgd.nesterov = options.flag("nesterov", false, {});
  return sgd;
}

std::string spec_of(const SgdSettings& sgd) {
  return "sgd:momentum=" + exact(sgd.momentum) + ",weight_decay=" + exact(sgd.weight_decay) +
         (sgd.nesterov.value_or(false) ? ",nesterov" : "");
}

}  // namespace

TrainOptions with_momentum_in_place(const TrainOptions& options, const StrategyRegistry& strategies) {
  const std::optional<SgdSettings> sgd = sgd_settings(options.optimizer);
  if (!sgd) return options;
  const MomentumPlace place = momentum_place(strategies.find(options.strategy).sends, options.compress, *sgd);
  if (place == MomentumPlace::kInside) return options;
  TrainOptions moved = options;
  moved.compress = with_momentum(place, options.compress, *sgd);
  moved.optimizer = spec_of(left_inside(place, *sgd));
  return moved;
}

void check_compression(const TrainOptions& options, const StrategyRegistry& strategies, int ranks) {
  make_strategy(strategies, options.strategy, ranks, options.compress);
  refuse_two_momenta(options.compress, "the optimiser " + options.optimizer, sgd_settings(options.optimizer));
}

}  // namespace tacit
