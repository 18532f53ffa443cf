// SPDX-License-Identifier: MIT
// eager-SGD -- S. Li, T. Ben-Nun, S. Di Girolamo, D. Alistarh, T. Hoefler, "Taming Unbalanced Training Workloads in
// Deep Learning with Partial Collective Operations", PPoPP 2020, arXiv:1908.04207.
//
// Idea        gradients are averaged at every step, but nobody waits for the slow: one rank starts the all-reduce for
//             all, and who has not come is in it with what it has not sent yet, perhaps nothing. Its gradient goes into
//             a later one.
// Symbols     g_t = w.gradient()   w_t = w.params()   P = w.size()   send_buf = what PartialMeans has not sent
//             solo: whoever comes first starts round t   majority: a rank that is drawn for it, so that on average half
//             of them have come
// Cost        one all-reduce of d floats per step and 32 bytes of news to every rank; every `limit` rounds one float
//             and, where a rank was out of step since, a mean of weights.
// Reduces to  ssgd bit for bit where nobody is late, and for limit = 1 (tests/strategies/eager_test.cc).
// Differs     the buffer for results has one place in the authors' program, so that a late rank misses rounds, its
//             weights come apart from the others', and all are made equal between blocks of epochs. Here every rank
//             applies every round's mean once, in order, and a late one those that it has missed, one after the other:
//             whoever has come to the same round has the same weights, whatever the optimiser, as far as its rate was
//             the same at that step. For the rest weights are averaged after every blocking round, but only where a
//             rank has applied more or fewer means than one at a step. What no round has had at the end goes into one
//             more, which is applied like any other. Late gradients are added up as in the paper; the program, as
//             it reads, drops them.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "protocols/partial_means.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

using By = Activation::By;

struct EagerOptions {
  By by;
  std::int64_t limit;
};

class Eager final : public Strategy {
 public:
  explicit Eager(const EagerOptions& options) : o_(options) {}

  void start(Worker& w) override {
    Strategy::start(w);
    std::uint64_t seed = w.rng(Rng::Use::kPeerChoice).next();
    w.comm().broadcast(std::as_writable_bytes(std::span(&seed, 1)), 0);
    means_.emplace(w, seed);
  }

  void ready(Worker& w, Slice part) override { means_->begin(w.gradient(), part, starts(w.t())); }

  void step(Worker& w) override {
    means_->next(w.gradient(), starts(w.t()));  // send_buf <- send_buf + g_t
    if (apply_new(w) != 1) apart_ = true;
    if (starts(w.t()) == By::kAll) come_together(w);
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (!finished_ && any(w, apart_)) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    if (any(w, means_->unsent())) {
      kernels::fill(0, w.gradient());
      means_->next(w.gradient(), By::kAll);
      apply_new(w);
    }
    come_together(w);
    means_->close();
    finished_ = true;
  }

  void save(Worker&, StateWriter& state) override {
    means_->save(state);
    state.write("eager.apart", static_cast<std::uint64_t>(apart_));
  }
  void load(Worker&, StateReader& state) override {
    means_->load(state);
    apart_ = state.number("eager.apart") != 0;
  }

 private:
  By starts(std::int64_t t) const { return (t + 1) % o_.limit == 0 ? By::kAll : o_.by; }

  // w <- w + U(G) for every round that has run here and was not applied; how many there were. A rank that is late may
  // find several, and then none until it has caught up.
  int apply_new(Worker& w) {
    int applied = 0;
    for (; means_->take(w.gradient()); ++applied) w.apply(w.gradient());
    return applied;
  }

  // All ranks have applied the same means. Where one did so at another step, its rate may have been another, and its
  // optimiser remembers that: from then on ranks take the mean whenever they have waited for each other.
  void come_together(Worker& w) {
    if (any(w, apart_)) w.comm().mean(w.params());
  }

  // Whether it is so on any rank. Collective.
  static bool any(Worker& w, bool here) {
    std::array<float, 1> ranks{here ? 1.0F : 0.0F};
    w.comm().sum(ranks);
    return ranks[0] > 0;
  }

  const EagerOptions o_;
  bool apart_ = false;  // this rank has once applied more or fewer means than one at a step
  bool finished_ = false;
  std::optional<PartialMeans> means_;
};

std::unique_ptr<Strategy> make(OptionReader& options, int /*ranks*/) {
  static const std::array<std::string, 2> kModes{"solo", "majority"};
  const std::string mode =
      options.choice("mode", "majority", kModes, {"who starts a mean: the first that comes, or one drawn"});
  const std::int64_t limit =
      options.integer("limit", 32, 1, kMany, {"steps between two means that wait for all ranks"});
  return std::make_unique<Eager>(EagerOptions{mode == "solo" ? By::kFirst : By::kDrawn, limit});
}

}  // namespace

StrategyInfo eager_info() {
  StrategyInfo info{
      "eager", "eager-SGD: gradients averaged at every step without the late, whose go into a later mean",
      "arXiv:1908.04207", "eager:mode=solo,limit=8", make};
  info.sends = Sends::kNotCompressed;
  info.why_not_compressed =
      "sends from a task that runs without the trainer, on whose step and learning rate compressors depend";
  info.asynchronous = true;
  info.overlaps = true;
  return info;
}

}  // namespace tacit
