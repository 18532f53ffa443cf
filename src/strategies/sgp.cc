// SPDX-License-Identifier: MIT
// Stochastic Gradient Push -- M. Assran, N. Loizou, N. Ballas, M. Rabbat, "Stochastic Gradient Push for Distributed Deep
// Learning", ICML 2019, arXiv:1811.10792, Algorithm 1; overlap: its Algorithm 2 with tau = 1.
//
// Idea        at every step each rank gives half of what it has to one peer and gets half of another's; the peer is 1,
//             2, 4, ... places further on, by turns, so that after log2 P steps everybody has heard of everybody.
// Symbols     x_i = w.params()   w_i = 1   z_i = x_i / w_i   p = 1/2   eta g = what w.apply does
// Cost        d floats per step and rank, to one peer; with overlap behind the next gradient.
// Reduces to  plain SGD for one rank; the mean of all in log2 P steps without gradients where P is a power of two. The
//             sum of all x_i changes by gradients alone (tests/strategies/sgp_test.cc).
// Differs     at every step every rank sends to one and hears one, so that all w_i are 1 whenever a gradient is applied:
//             the weight is not sent and x_i is z_i. With overlap half of x_i is under way during the gradient, at
//             z_i = (x_i / 2) / (1 / 2), and what comes has the other half of the weight: x_i <- (x_i + x_j) / 2 - eta g.
#include <memory>
#include <optional>

#include "protocols/neighbour_mix.h"
#include "tacit/strategy/registry.h"
#include "topology/graph.h"

namespace tacit {
namespace {

class Sgp final : public Strategy {
 public:
  explicit Sgp(bool overlap) : overlap_(overlap) {}

  void start(Worker& w) override {
    Strategy::start(w);
    mix_.emplace(w.params());
  }

  void step(Worker& w) override {
    if (overlap_ && w.t() > 0) {
      if (!mix_->out()) give(w, w.t() - 1);  // after load()
      mix_->end(w.params());
    }
    w.apply(w.gradient());  // x_i <- x_i - eta g_i(z_i)
    give(w, w.t());
    if (!overlap_) mix_->end(w.params());
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    mix_->drop();  // it changes nobody's share of the mean
    w.comm().mean(w.params());
    apart_ = false;
  }

  // What is under way are the weights of this moment, which are sent again after load().
  void load(Worker&, StateReader&) override { mix_->drop(); }

 private:
  void give(Worker& w, std::int64_t t) {
    const int hop = exponential_hop(t, w.size());
    Links links;
    if (hop > 0) links = {{(w.rank() + hop) % w.size()}, {(w.rank() + w.size() - hop) % w.size()}};
    mix_->begin(w.comm(), w.params(), links);
  }

  const bool overlap_;
  bool apart_ = true;  // until finish
  std::optional<NeighbourMix> mix_;
};

}  // namespace

StrategyInfo sgp_info() {
  return {.name = "sgp",
          .summary = "stochastic gradient push: half of the weights to one peer per step, in turns",
          .paper = "arXiv:1811.10792",
          .example = "sgp:overlap",
          .make = [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<Sgp>(options.flag("overlap", false, {"send behind the next gradient"}));
          },
          .sends = Sends::kWeights,
          .keeps_weights = true};
}

}  // namespace tacit
