// SPDX-License-Identifier: MIT
// DiLoCo -- A. Douillard, Q. Feng, A. A. Rusu, R. Chhaparia, Y. Donchev, A. Kuncoro, M. Ranzato, A. Szlam, J. Shen,
// "DiLoCo: Distributed Low-Communication Training of Language Models", arXiv:2311.08105, Algorithm 1.
//
// Idea        every rank takes H steps alone; how far the mean of all has come is a gradient for an outer optimiser, SGD
//             with Nesterov momentum, which all ranks run alike.
// Symbols     theta_i = w.params()   theta = base()   Delta = the mean of theta - theta_i   H = o_.period
// Cost        one all-reduce of d floats per H steps.
// Reduces to  synchronous SGD for H = 1, outer_lr = 1, momentum = 0 and plain SGD inside; local for outer_lr = 1,
//             momentum = 0 (tests/strategies/diloco_test.cc).
// Differs     H is 500 in the paper, whose runs have 88,000 steps. The last round of a run may be shorter than H.
// Compressed  every rank sends how far it has moved since theta.
#include <memory>

#include "protocols/local_rounds.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

struct DiLoCoOptions {
  std::int64_t period;
  double outer_lr, momentum;
};

class DiLoCo final : public LocalRounds {
 public:
  explicit DiLoCo(const DiLoCoOptions& options) : LocalRounds(options.period), o_(options) {}

  void start(Worker& w) override {
    LocalRounds::start(w);
    delta_.assign(w.params());
    if (o_.momentum == 0) return;
    velocity_.assign(w.params());
    kernels::fill(0, velocity_.view());
  }

  void finish(Worker& w) override {
    if (apart()) come_together(w);  // the last round may be short
    LocalRounds::finish(w);
  }

  void save(Worker& w, StateWriter& state) override {
    LocalRounds::save(w, state);
    state.write("diloco.momentum", velocity_.view());
  }
  void load(Worker& w, StateReader& state) override {
    LocalRounds::load(w, state);
    state.read("diloco.momentum", velocity_.view());
  }

 private:
  bool needs_base() const override { return true; }

  // The outer step, from where the round began; the inner optimiser's state stays local.
  void end_round(Worker& w) override {
    kernels::difference(base(), w.params(), delta_.view());  // old - new: it is a gradient
    const kernels::SgdStep outer{.lr = static_cast<float>(o_.outer_lr),
                                 .momentum = static_cast<float>(o_.momentum),
                                 .nesterov = o_.momentum > 0};
    copy(base(), w.params());
    kernels::sgd_step(outer, delta_.view(), velocity_.view(), w.params());
  }

  const DiLoCoOptions o_;
  Buffer delta_;
  Buffer velocity_;  // the outer optimiser's; empty without momentum
};

}  // namespace

StrategyInfo diloco_info() {
  return {.name = "diloco",
          .summary = "rounds of steps alone, whose mean is a gradient for an outer Nesterov SGD",
          .paper = "arXiv:2311.08105",
          .example = "diloco:period=100",
          .make = [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<DiLoCo>(DiLoCoOptions{
                options.integer("period", 64, 1, kMany, {"steps between two outer steps"}),
                options.number("outer_lr", 0.7, 0, 10, {"learning rate of the outer optimiser"}),
                options.number("momentum", 0.9, 0, 0.999, {"its Nesterov momentum; 0: none"})});
          },
          .sends = Sends::kDifferences,
          .keeps_weights = true};
}

}  // namespace tacit
