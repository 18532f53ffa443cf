// SPDX-License-Identifier: MIT
// Asynchronous SGD with servers -- J. Dean et al., "Large Scale Distributed Deep Networks", NIPS 2012, Downpour SGD with
// n_push = n_fetch = 1.
//
// Idea        every rank sends its gradient to the servers, which apply it as it comes, and gets their weights back. No
//             rank waits for another.
// Symbols     x_i = w.params()   g_i = w.gradient()   P = w.size()   x = the servers' weights   share = share_
// Cost        d floats to the servers and d back per step, in one trip.
// Reduces to  the inner optimiser alone for one rank, bit for bit (tests/strategies/asgd_test.cc).
// Differs     a gradient counts with eta_t / P (share), so that P of them move the weights as far as their mean would and
//             a rate that suits ssgd suits here; the paper's are whole (share=1). Momentum is the servers'.
#include <memory>
#include <string>
#include <utility>

#include "protocols/sharded_strategy.h"
#include "tacit/core/buffer.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

// Applies gradients as they come.
class AsgdRule final : public ShardRule {
 public:
  AsgdRule(ConstFloatView weights, std::unique_ptr<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {
    weights_.assign(weights);
  }

  ConstFloatView exchange(const ShardPush& gradient) override {
    optimizer_->step(gradient.x, static_cast<float>(gradient.weight), weights_.view());
    return weights_.view();
  }
  ConstFloatView pull(int, std::int64_t) override { return weights_.view(); }

  void save(StateWriter& state) const override {
    state.write("asgd.weights", weights_.view());
    optimizer_->save(state);
  }
  void load(StateReader& state) override {
    state.read("asgd.weights", weights_.view());
    optimizer_->load(state);
  }

 private:
  Buffer weights_;
  const std::unique_ptr<Optimizer> optimizer_;
};

class Asgd final : public ShardedStrategy {
 public:
  Asgd(int servers, double share) : ShardedStrategy(servers), share_(share) {}

  void start(Worker& w) override {
    // First: it may be of a kind that servers cannot run.
    const std::shared_ptr<const Optimizer> optimizer = w.new_optimizer();
    open(w, [=](ConstFloatView weights) { return std::make_unique<AsgdRule>(weights, optimizer->fresh()); });
  }

  void ready(Worker& w, Slice part) override { begin(w, part, gradient(w)); }

  void step(Worker& w) override { exchange(w, gradient(w), w.params()); }

 private:
  ShardPush gradient(Worker& w) const {
    return {.step = w.t(), .weight = share_ * w.lr(), .x = w.gradient()};
  }

  const double share_;
};

}  // namespace

StrategyInfo asgd_info() {
  return {.name = "asgd",
          .summary = "asynchronous SGD: gradients to servers, which apply each as it comes, and weights back",
          .paper = "NIPS 2012, Large Scale Distributed Deep Networks",
          .example = "asgd:servers=2",
          .make = [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const int servers = Shards::read_servers(options, ranks);
            const double share = options.number(
                "share", 1.0 / ranks, 0, 1,
                {"of the learning rate, for one rank's gradient", "1 / workers; the paper's: 1"});
            return std::make_unique<Asgd>(servers, share);
          },
          .asynchronous = true,
          .survives = true,
          .keeps_weights = true,
          .overlaps = true,
          .why_not_compressed = "sends a gradient and has weights back in one trip, which has no codec"};
}

}  // namespace tacit
