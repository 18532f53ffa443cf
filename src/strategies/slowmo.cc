// SPDX-License-Identifier: MIT
// SlowMo -- J. Wang, V. Tantia, N. Ballas, M. Rabbat, "SlowMo: Improving Communication-Efficient Distributed SGD with Slow
// Momentum", ICLR 2020, arXiv:1910.00643, Algorithm 1, with local SGD as the base.
//
// Idea        every rank takes tau steps alone; then all average their weights, and how far that mean has come is a step
//             of a slow momentum.
// Symbols     x = w.params()   x_0 = base()   gamma = w.lr()   tau = o_.period   u = slow_   alpha = o_.alpha
//             beta = o_.beta
// Cost        one all-reduce of d floats per tau steps; with buffers=average one more for each vector of the optimiser.
// Reduces to  local for beta = 0 and alpha = 1, bit for bit; block momentum (BMUF) for a constant gamma
//             (tests/strategies/slowmo_test.cc).
// Differs     x_0 - alpha gamma u is computed as (1 - alpha) x_0 + alpha x_tau - alpha beta gamma u. gamma is eta of the
//             round's last step; where that is 0 there is no slow step, and u stays as it is.
// Compressed  every rank sends how far it has moved since x_0.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "protocols/local_rounds.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

enum class Buffers { kKeep, kReset, kAverage };  // of the inner optimiser, after a slow step

struct SlowMoOptions {
  std::int64_t period;
  double alpha, beta;
  Buffers buffers;
};

class SlowMo final : public LocalRounds {
 public:
  explicit SlowMo(const SlowMoOptions& options) : LocalRounds(options.period), o_(options) {}

  void start(Worker& w) override {
    LocalRounds::start(w);
    slow_.assign(w.params());
    kernels::fill(0, slow_.view());
  }

  void save(Worker& w, StateWriter& state) override {
    LocalRounds::save(w, state);
    state.write("slowmo.u", slow_.view());
  }
  void load(Worker& w, StateReader& state) override {
    LocalRounds::load(w, state);
    state.read("slowmo.u", slow_.view());
  }

 private:
  bool needs_base() const override { return true; }

  void end_round(Worker& w) override {
    slow_step(w.params(), w.lr());
    if (o_.buffers == Buffers::kReset) w.optimizer().reset();
    if (o_.buffers == Buffers::kAverage)
      for (const NamedView& each : w.optimizer().state()) w.comm().mean(each.values);
  }

  // x, which is x_tau, becomes the next x_0.
  void slow_step(FloatView x, float gamma) {
    if (gamma <= 0) return;
    const auto alpha = static_cast<float>(o_.alpha);
    const auto beta = static_cast<float>(o_.beta);
    kernels::subtract(x, base());  // x_0 - x_tau
    if (alpha != 1) kernels::axpy(1 - alpha, base(), x);
    if (beta > 0) kernels::axpy(-alpha * beta * gamma, slow_.view(), x);
    kernels::axpby(1 / gamma, base(), beta, slow_.view());  // u <- beta u + (x_0 - x_tau) / gamma
  }

  const SlowMoOptions o_;
  Buffer slow_;
};

std::unique_ptr<Strategy> make(OptionReader& options, int /*ranks*/) {
  static const std::array<std::string, 3> kBuffers{"keep", "reset", "average"};  // in the order of Buffers
  const auto period = options.integer("period", 16, 1, kMany, {"steps between two means of the weights"});
  const auto alpha = options.number("alpha", 1, 0, 10, {"length of a slow step"});
  const auto beta = options.number("beta", 0.5, 0, 0.999, {"slow momentum"});
  const auto buffers = options.choice("buffers", "keep", kBuffers, {"the optimiser's, after a slow step"});
  const auto which = std::find(kBuffers.begin(), kBuffers.end(), buffers) - kBuffers.begin();
  return std::make_unique<SlowMo>(SlowMoOptions{period, alpha, beta, static_cast<Buffers>(which)});
}

}  // namespace

StrategyInfo slowmo_info() {
  return {.name = "slowmo",
          .summary = "local SGD whose means are steps of a slow momentum",
          .paper = "arXiv:1910.00643",
          .example = "slowmo:period=12,beta=0.6",
          .make = make,
          .sends = Sends::kDifferences,
          .keeps_weights = true};
}

}  // namespace tacit
