// SPDX-License-Identifier: MIT
// WAGMA-SGD -- S. Li, T. Ben-Nun, G. Nadiradze, S. Di Girolamo, N. Dryden, D. Alistarh, T. Hoefler, "Breaking (Global)
// Barriers in Parallel Stochastic Optimization With Wait-Avoiding Group Averaging", IEEE TPDS 32(7), 2021,
// arXiv:2005.00124, Algorithm 2.
//
// Idea        at every step each rank averages its weights with a small group that changes from step to step; whoever
//             comes first starts the average, and the late ones are in it with what they gave last. Every tau steps all
//             ranks wait for each other and take the global mean.
// Symbols     W_t = w.params()   P = w.size()   S = o_.group (about sqrt P)   tau = o_.period   send_buf = what
//             GroupSums was given
// Cost        a group step sends 2 (S-1)/S d floats (log2 S d where d is small), a global one an all-reduce of d
//             floats.
// Reduces to  the mean of all weights at every step for S = P and nobody late; butterfly mixing for S = 2 and tau =
//             infinity; local for S = 1 (tests/strategies/wagma_test.cc).
// Differs     any P: topology/groups.h. The group average moves whole vectors by the best algorithm for their size, not
//             by recursive doubling alone. After a global mean the send buffer has that mean, and not the weights
//             before it. The first waits a little for those who come a moment later (patience; 0 as in the paper). A
//             rank that is late by several averages takes the newest, as the released program does, whose receive
//             buffer has one place. A late rank is in the averages that it misses with its weights as those averages
//             left them, and adds its step when it comes (late=add), so that the mean of all replicas moves by every
//             step of every rank. In the paper (late=mean) it is in them with what it gave last and then has the weight
//             of one more rank. Momentum stays local.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "protocols/group_sums.h"
#include "tacit/core/error.h"
#include "tacit/strategy/registry.h"
#include "topology/groups.h"

namespace tacit {
namespace {

struct WagmaOptions {
  int group;
  std::int64_t period;
  GroupSums::Manner manner;  // patience and late
};

class Wagma final : public Strategy {
 public:
  explicit Wagma(const WagmaOptions& options) : o_(options) {}

  void start(Worker& w) override {
    Strategy::start(w);
    if (o_.group == 1) return;
    sums_.emplace(
        w.comm(), w.tasks(), w.params(),
        [s = o_.group](int place, int n, std::int64_t t) {
          return groups::group_of(place, n, std::min(s, n), t);
        },
        o_.manner);
  }

  void step(Worker& w) override {
    w.apply(w.gradient());  // W' = W_t + U(g)
    apart_ = (w.t() + 1) % o_.period != 0;
    if (!apart_) w.comm().mean(w.params());  // W_{t+1} = 1/P sum W'
    if (!sums_) return;
    apart_ ? sums_->next(w.params()) : sums_->refresh(w.params());  // W_{t+1} = Wsum / S
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    if (sums_) sums_->close();
    if (apart_) w.comm().mean(w.params());
    apart_ = false;
  }

  void save(Worker&, StateWriter& state) override {
    state.write("wagma.apart", std::uint64_t{apart_});
    if (sums_) sums_->save(state);
  }
  void load(Worker&, StateReader& state) override {
    apart_ = state.number("wagma.apart") != 0;
    if (sums_) sums_->load(state);
  }
  void lend(Worker&, StateWriter& state) override {
    state.write("wagma.apart", std::uint64_t{apart_});
    if (sums_) state.write("wagma.sums", static_cast<std::uint64_t>(sums_->made()));
  }
  void rejoin(Worker& w, StateReader& state) override {
    apart_ = state.number("wagma.apart") != 0;
    if (sums_) sums_->rejoin(static_cast<std::int64_t>(state.number("wagma.sums")), w.params());
  }

 private:
  const WagmaOptions o_;
  bool apart_ = false;  // whether replicas may differ; the same on every rank
  std::optional<GroupSums> sums_;
};

GroupSums::Manner read_manner(OptionReader& options) {
  static const std::array<std::string, 2> kLate{"mean", "add"};
  const std::string late =
      options.choice("late", "add", kLate, {"what a late rank does with its step; mean: the paper's"});
  return {
      .late = late == "add" ? Late::kAdd : Late::kMean,
      .patience = options.number("patience", 0.25, 0, 1,
                                 {"longest wait for others, as a share of the usual time between averages"})};
}

int checked_group(OptionReader& options, int ranks) {
  const auto group = static_cast<int>(
      options.integer("group", groups::default_size(ranks), 1, 1'000'000,
                      {"ranks that average at a step", "about the square root of the ranks"}));
  if (group > ranks)
    throw InvalidConfig("wagma: group=" + std::to_string(group) + " does not fit " + std::to_string(ranks) +
                        (ranks == 1 ? " worker" : " workers") + "; give 1 to " + std::to_string(ranks) +
                        ", or leave it out for about the square root");
  return group;
}

}  // namespace

StrategyInfo wagma_info() {
  return {"wagma",
          "wait-avoiding group averaging: weights averaged in changing groups at every step, in all every "
          "`period` steps",
          "arXiv:2005.00124",
          "wagma:group=4,period=10",
          [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const WagmaOptions o{
                .group = checked_group(options, ranks),
                .period = options.integer("period", 10, 1, kMany, {"steps between two means over all ranks"}),
                .manner = read_manner(options)};
            return std::make_unique<Wagma>(o);
          },
          Sends::kWeights,
          /*asynchronous=*/true,
          /*survives=*/true};
}

}  // namespace tacit
