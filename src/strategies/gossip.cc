// SPDX-License-Identifier: MIT
// Gossiping SGD -- P. H. Jin, Q. Yuan, F. Iandola, K. Keutzer, "How to scale distributed deep learning?",
// arXiv:1611.04581; push_sum: M. Assran et al., "Stochastic Gradient Push", ICML 2019, arXiv:1811.10792, Algorithm 1.
//
// Idea        every rank steps alone and now and then averages its weights with one peer's, without waiting for it.
// Symbols     x_i = w.params()   tau = period   R = what came   push_sum: z_i = w.params(), w_i in mass_, x_i = w_i z_i
// Cost        d floats sent and d received per exchange, one exchange per tau steps, whatever the number of ranks.
// Reduces to  plain SGD alone for probability=0; push_sum conserves sum x_i, sum w_i (tests/strategies/gossip_test.cc).
// Differs     lag > 0: a pull is on its way during the next gradients, the first of which is at x_i before the average.
//             No other begins meanwhile. Momentum stays local. push_sum: z_i + U(g_i), as U / w_i may be large.
#include <memory>
#include <optional>
#include <utility>

#include "protocols/board.h"
#include "protocols/push_sum.h"
#include "strategies/peer_draw.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class PullGossip final : public Strategy {
 public:
  PullGossip(const PeerDraw& draw, std::int64_t lag) : draw_(draw), lag_(lag) {}

  void start(Worker& w) override {
    Strategy::start(w);
    y_.emplace(w.params());
    board_.emplace(w.comm(), w.tasks(), w.params());
    pull_.emplace(w.comm());
  }

  void step(Worker& w) override {
    if (pull_->due(w.t(), lag_)) ready_ = pull_->end();
    merge(w.params());
    w.apply(w.gradient());  // x_i <- x_i - eta g_i
    board_->publish(w.params(), w.t());
    const std::optional<int> j = pull_->out() ? std::nullopt : draw_(w);
    if (j) pull_->begin([this, peer = *j] { board_->read(peer, y_->view()); }, w.t());  // y <- x_j
    if (lag_ > 0 || !(ready_ = pull_->end())) return;
    merge(w.params());
    board_->publish(w.params(), w.t());
  }

  void settle(Worker&) override { ready_ = pull_->end() || ready_; }
  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    pull_->end();
    w.comm().barrier();  // nobody reads any more
    board_->close();
    w.comm().mean(w.params());
    apart_ = false;
  }

  void save(Worker& w, StateWriter& state) override {
    settle(w);
    state.write("gossip.x", board_->latest()->x.view());  // what peers read until the next step ends
    state.write("gossip.ready", std::uint64_t{ready_ ? 1U : 0U});
    state.write("gossip.y", ConstFloatView(y_->view()));
  }
  void load(Worker& w, StateReader& state) override {
    state.read("gossip.x", y_->view());
    board_->publish(y_->view(), -1);
    ready_ = state.number("gossip.ready") != 0;
    state.read("gossip.y", y_->view());
    w.comm().barrier();  // nobody reads a board that still has the weights of the start
  }
  void rejoin(Worker& w, StateReader&) override { board_->publish(w.params(), w.t()); }

 private:
  void merge(FloatView x) {
    if (std::exchange(ready_, false)) kernels::average(y_->view(), x);  // x_i <- (x_i + y) / 2
  }

  const PeerDraw draw_;
  const std::int64_t lag_;
  bool apart_ = true;  // until finish
  std::optional<Buffer> y_;
  bool ready_ = false;  // y is there and not yet in x
  std::optional<Board> board_;
  std::optional<Errand> pull_;  // last: it ends before what it uses
};

class PushGossip final : public Strategy {
 public:
  PushGossip(const PeerDraw& draw, bool push_sum)
      : draw_(draw), rule_(push_sum ? PushSum::Rule::kWeighted : PushSum::Rule::kUnweighted) {}

  void start(Worker& w) override {
    Strategy::start(w);
    mass_.emplace(rule_, w.comm(), w.tasks(), w.params());
  }

  void step(Worker& w) override {
    w.apply(w.gradient());  // x_i <- x_i - eta g_i; push_sum: z_i <- z_i - eta g_i(z_i)
    if (const auto j = draw_(w)) mass_->give(*j, w.params());
    mass_->collect(w.params());  // x_i <- (x_i + sum R) / (1 + |R|); push_sum: w_i z_i <- w_i z_i + sum R
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) mass_->mean(w.comm(), out);
  }

  void finish(Worker& w) override {
    mass_->close(w.params());
    mass_->mean(w.comm(), w.params());
    apart_ = false;
  }
  void save(Worker&, StateWriter& state) override { mass_->save(state); }
  void load(Worker&, StateReader& state) override { mass_->load(state); }

 private:
  const PeerDraw draw_;
  const PushSum::Rule rule_;
  bool apart_ = true;  // until finish
  std::optional<PushSum> mass_;
};

std::unique_ptr<Strategy> make(OptionReader& options, int /*ranks*/) {
  const PeerDraw draw = PeerDraw::read(options);
  const std::string modes[] = {"pull", "push"};
  const bool pulls = options.choice("mode", "pull", modes, {"who changes: who asks or is asked"}) == "pull";
  const auto lag = options.integer("lag", 0, 0, kMany, {"pull: steps after which it is waited for"});
  const bool push_sum = options.flag("push_sum", false, {"push: send a weight too, and keep the mean"});
  options.only_with(pulls ? "push_sum" : "lag", false, pulls ? "mode=push" : "mode=pull");
  if (pulls) return std::make_unique<PullGossip>(draw, lag);
  return std::make_unique<PushGossip>(draw, push_sum);
}

}  // namespace

StrategyInfo gossip_info() {
  StrategyInfo info{"gossip",
                    "gossiping SGD: weights averaged with one peer at a time, without waiting",
                    "arXiv:1611.04581",
                    "gossip:period=4,peers=ring",
                    make,
                    Sends::kWeights};
  info.asynchronous = info.survives = true;
  return info;
}

}  // namespace tacit
