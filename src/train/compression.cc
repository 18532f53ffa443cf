// SPDX-License-Identifier: MIT
// What --compress means together with --strategy and --optimizer.
#include <algorithm>

#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/train/trainer.h"

namespace tacit {
namespace {

// What sgd was asked for; nothing where another optimiser was.
struct SgdOptions {
  explicit SgdOptions(const std::string& spec) : SgdOptions(OptionReader(Spec::parse(spec))) {}
  explicit SgdOptions(OptionReader options)
      : is_sgd(options.spec().name == "sgd"),
        momentum(options.number("momentum", 0, 0, 1)),
        weight_decay(options.number("weight_decay", 0, 0, 1e9)),
        says_nesterov(options.given("nesterov")) {}
  bool is_sgd;
  double momentum;
  double weight_decay;
  bool says_nesterov;
};

Sends what_is_sent(const StrategyRegistry& strategies, const std::string& spec) {
  return strategies.find(spec).sends;
}

}  // namespace

TrainOptions with_momentum_in_front(const TrainOptions& options, const StrategyRegistry& strategies) {
  const Sends sends = what_is_sent(strategies, options.strategy);
  const SgdOptions sgd(options.optimizer);
  if (sends == Sends::kBothWays && sgd.is_sgd && sgd.momentum > 0 && !sgd.says_nesterov) {
    TrainOptions moved = options;
    moved.optimizer += ",nesterov";
    return moved;
  }
  if (options.compress.empty() || sends != Sends::kGradients) return options;
  const Compression how = Compression::parse(options.compress);
  if (how.memory != Memory::kErrorFeedback || how.momentum || !sgd.is_sgd || sgd.momentum == 0)
    return options;
  TrainOptions moved = options;
  moved.compress += ",momentum=" + exact(sgd.momentum);
  // The optimiser's momentum made every decay last: that sum is now taken at once.
  moved.optimizer = "sgd";
  if (sgd.weight_decay > 0)
    moved.optimizer += ":weight_decay=" + exact(sgd.weight_decay / (1 - sgd.momentum));
  return moved;
}

void check_compression(const TrainOptions& options, const StrategyRegistry& strategies, int ranks) {
  make_strategy(strategies, options.strategy, ranks, options.compress);
  if (options.compress.empty()) return;
  const Compression how = Compression::parse(options.compress);
  const SgdOptions sgd(options.optimizer);
  if (how.momentum.value_or(0) > 0 && (!sgd.is_sgd || sgd.momentum > 0))
    throw InvalidConfig("--optimizer " + options.optimizer +
                        " has a momentum of its own, and so has --compress " + options.compress +
                        "; write --optimizer sgd, or leave momentum= to the optimiser with ef");
}

}  // namespace tacit
