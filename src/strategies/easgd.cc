// SPDX-License-Identifier: MIT
// Elastic averaging SGD -- S. Zhang, A. Choromanska, Y. LeCun, "Deep learning with Elastic Averaging SGD", NIPS 2015,
// arXiv:1412.6651, Algorithm 1.
//
// Idea        every rank steps alone; every tau steps a spring pulls it and the centre, which servers keep, towards each
//             other. No rank waits for another.
// Symbols     x_i = w.params()   xc = the servers' weights   a = rate_   tau = period_   beta = P a
// Cost        d floats to the servers and d back per tau steps, in one trip.
// Reduces to  ranks that know nothing of each other for a = 0. The sum of all x_i and xc changes by gradients alone
//             (tests/strategies/easgd_test.cc).
// Differs     what comes back is the spring's pull a (x_i - xc), by which both sides move: x_i and xc never part by
//             rounding. The exchange comes behind a rank's step and not before it. Momentum is local (EAMSGD with the
//             user's optimiser).
#include <memory>

#include "protocols/sharded_strategy.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

// A shard of the centre.
class CentreRule final : public ShardRule {
 public:
  CentreRule(ConstFloatView centre, float rate) : rate_(rate) {
    for (Buffer* each : {&centre_, &pull_}) each->assign(centre);
  }

  ConstFloatView exchange(const ShardPush& replica) override {
    kernels::difference(replica.x, centre_.view(), pull_.view());
    kernels::scale(rate_, pull_.view());         // a (x_i - xc)
    kernels::add(pull_.view(), centre_.view());  // xc <- xc + a (x_i - xc)
    return pull_.view();
  }
  ConstFloatView pull(int, std::int64_t) override { return centre_.view(); }

  void save(StateWriter& state) const override { state.write("easgd.centre", centre_.view()); }
  void load(StateReader& state) override { state.read("easgd.centre", centre_.view()); }

 private:
  const float rate_;
  Buffer centre_;
  Buffer pull_;
};

// Evaluates the centre.
class Easgd final : public ShardedStrategy {
 public:
  Easgd(int servers, std::int64_t period, double rate)
      : ShardedStrategy(servers), period_(period), rate_(static_cast<float>(rate)) {}

  void start(Worker& w) override {
    open(w, [rate = rate_](ConstFloatView weights) { return std::make_unique<CentreRule>(weights, rate); });
    pull_.assign(w.params());
  }

  void step(Worker& w) override {
    w.apply(w.gradient());  // x_i <- x_i - eta g_i
    if ((w.t() + 1) % period_ != 0) return;
    exchange(w, {.step = w.t(), .x = w.params()}, pull_.view());
    kernels::subtract(pull_.view(), w.params());  // x_i <- x_i - a (x_i - xc)
  }

 private:
  const std::int64_t period_;
  const float rate_;
  Buffer pull_;
};

}  // namespace

StrategyInfo easgd_info() {
  return {.name = "easgd",
          .summary = "elastic averaging: every few steps a rank and a centre on servers pull at each other",
          .paper = "arXiv:1412.6651",
          .example = "easgd:period=8",
          .make = [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const int servers = Shards::read_servers(options, ranks);
            const auto period = options.integer("period", 4, 1, kMany, {"steps between exchanges"});
            const auto rate = options.number("rate", 0.9 / ranks, 0, 1,
                                             {"how far both sides move towards each other", "0.9 / workers"});
            return std::make_unique<Easgd>(servers, period, rate);
          },
          .sends = Sends::kWeights,
          .asynchronous = true,
          .survives = true,
          .keeps_weights = true};
}

}  // namespace tacit
