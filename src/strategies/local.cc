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
// Compressed  every rank sends, compressed, how far it has moved since the last average; all move by the mean of that.
//             Such differences have eta in them, so residuals need no factor. The last average of a run is exact.
#include <memory>

#include "tacit/core/buffer.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class Local final : public Strategy {
 public:
  explicit Local(std::int64_t period) : period_(period) {}

  void start(Worker& w) override {
    Strategy::start(w);
    mean_ = w.make_mean({.sends = Sends::kDifferences});
    if (!mean_->exact()) base_.assign(w.params());
  }

  void step(Worker& w) override {
    w.apply(w.gradient());
    apart_ = (w.t() + 1) % period_ != 0;
    if (apart_) return;
    mean_->mean_from(w, base_.view(), w.params());
    if (!mean_->exact()) base_.take(w.params());
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    if (apart_) w.comm().mean(w.params());
    apart_ = false;
    mean_->finish(w);
  }

  void save(Worker& w, StateWriter& state) override {
    state.write("local.apart", std::uint64_t{apart_});
    state.write("local.base", base_.view());
    mean_->save(w, state);
  }
  void load(Worker& w, StateReader& state) override {
    apart_ = state.number("local.apart") != 0;
    state.read("local.base", base_.view());
    mean_->load(w, state);
  }

 private:
  const std::int64_t period_;
  bool apart_ = false;  // whether replicas differ; the same on every rank
  std::unique_ptr<Mean> mean_;
  Buffer base_;  // the last average, equal on every rank; empty where means are exact
};

}  // namespace

StrategyInfo local_info() {
  return {"local",
          "local SGD: weights averaged every `period` steps",
          "arXiv:1805.09767",
          "local:period=8",
          [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<Local>(
                options.integer("period", 16, 1, kMany, {"steps between two means of the weights"}));
          },
          Sends::kDifferences};
}

}  // namespace tacit
