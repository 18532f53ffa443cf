// SPDX-License-Identifier: MIT
// Local SGD -- S. U. Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019, arXiv:1805.09767,
// Algorithm 1.
//
// Idea        every rank takes H steps alone, then all ranks average their parameters.
// Symbols     x_t^k = w.params()   eta_t = w.lr()   K = w.size()   H = period_
// Cost        one all-reduce of d floats per H steps.
// Reduces to  ssgd for H = 1 with plain SGD inside (tests/strategies/local_test.cc).
// Differs     the paper allows any set of averaging times, here it is every H-th step and the end of the run;
//             the inner optimiser's state (momentum) stays local.
#include <memory>

#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class Local final : public Strategy {
 public:
  explicit Local(std::int64_t period) : period_(period) {}

  void step(Worker& w) override {
    w.apply(w.gradient());
    apart_ = (w.t() + 1) % period_ != 0;
    if (!apart_) w.comm().mean(w.params());
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    if (apart_) w.comm().mean(w.params());
    apart_ = false;
  }

 private:
  const std::int64_t period_;
  bool apart_ = false;  // whether replicas differ; the same on every rank
};

}  // namespace

StrategyInfo local_info() {
  return {"local", "local SGD: weights averaged every `period` steps (options: period=16)",
          "arXiv:1805.09767", [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<Local>(options.integer("period", 16, 1, 1'000'000'000));
          }};
}

}  // namespace tacit
