// SPDX-License-Identifier: MIT
// SSD-SGD -- Y. Xu, D. Dong, Y. Zhao, W. Xu, X. Liao, "SSD-SGD: Communication Sparsification for Distributed Deep
// Learning Training", ACM TACO 20(1), 2023, arXiv:2012.05396.
//
// Idea        workers push every gradient to synchronous servers but pull weights every k-th step only, in the
//             background; in between they move their own weights, as the inner optimiser would by their own gradient or,
//             with local=glu, by that and the servers' recent direction (strategies/local_rule.cc).
// Symbols     w_loc = w.params()   g = w.gradient()   k = o_.delay   T_w = o_.warmup
// Cost        d floats up per step, d down per k steps; both behind the next gradient, buckets behind the rest of their own
//             too. In warm-up both at every step.
// Reduces to  ssgd:servers=K, bit for bit while in warm-up, and where all workers have the same gradients; the inner
//             optimiser alone for P = 1.
// Compressed  what workers push, in warm-up too, so that residuals and a momentum in front know no seam; pulls are exact
//             (CD-SGD, arXiv:2106.10796).
// Differs     GLU, the rule of the released program, is not the default: workers who go elsewhere than the servers by that
//             much diverge at rates at which synchronous SGD does not. The program has three defects (docs/strategies/ssd.md);
//             here GLU is in normalised form: g and G are means, so that rates need no factor P, and g has the gain of the
//             servers' momentum. G comes from two pulls. Its weight decay acts on the servers alone.
#include <memory>
#include <optional>
#include <utility>

#include "protocols/server.h"
#include "strategies/local_rule.h"
#include "tacit/core/buffer.h"
#include "tacit/protocols/shards.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

struct SsdOptions {
  std::int64_t delay, warmup;
  std::optional<Glu> glu;
  int servers;
};

class Ssd final : public Strategy {
 public:
  explicit Ssd(const SsdOptions& options) : o_(options) {}

  void start(Worker& w) override {
    Strategy::start(w);
    pulled_.assign(w.params());
    servers_.emplace(w, o_.servers);
    rule_ = o_.glu ? make_glu(w, servers_->gain(), *o_.glu) : make_own_optimizer(w, servers_->gain());
  }

  void ready(Worker& w, Slice part) override {
    servers_->begin(w, part, w.gradient(), pulled_at_once(w.t()));
  }

  void step(Worker& w) override {
    if (pulling_) take_pulled(w);  // in the last step: it takes effect one gradient late
    t_ = w.t();
    pulling_ = (t_ + 1) % o_.delay == 0;
    servers_->push(w, w.gradient(), pulled_at_once(t_));
    if (t_ < o_.warmup) {
      servers_->wait();
      rule_->warm_up(w);
      return pulling_ ? take_pulled(w) : pulled_.give(w.params());
    }
    if (pulling_) servers_->pull(w, pulled_.view());
    rule_->step(w);
  }

  void settle(Worker&) override {
    if (servers_) servers_->wait();
  }
  // The servers' weights, after all that was pushed.
  void model(Worker& w, FloatView out) override {
    settle(w);
    servers_ ? servers_->read(w.comm(), t_, out) : copy(w.params(), out);
  }
  void finish(Worker& w) override {
    model(w, w.params());
    servers_->close();
    servers_.reset();
  }

  void save(Worker& w, StateWriter& state) override {
    settle(w);
    state.write("ssd.t", static_cast<std::uint64_t>(t_));
    state.write("ssd.pulling", std::uint64_t{pulling_});
    state.write("ssd.pulled", pulled_.view());
    rule_->save(state);
    servers_->save(w, t_, state);
  }
  void load(Worker& w, StateReader& state) override {
    t_ = static_cast<std::int64_t>(state.number("ssd.t"));
    pulling_ = state.number("ssd.pulling") != 0;
    state.read("ssd.pulled", pulled_.view());
    rule_->load(state);
    servers_->load(w, state);
  }

 private:
  std::optional<FloatView> pulled_at_once(std::int64_t t) {
    return t < o_.warmup ? std::optional(pulled_.view()) : std::nullopt;
  }
  void take_pulled(Worker& w) {
    servers_->wait_for_pull();
    pulled_.give(w.params());
    rule_->take(pulled_.view());
    pulling_ = false;
  }

  const SsdOptions o_;
  std::int64_t t_ = Shards::kBeforeTheFirst;  // the last step that was pushed
  bool pulling_ = false;                      // whether weights were asked for in it and are not taken
  Buffer pulled_;                             // the servers' while they pull
  std::unique_ptr<LocalRule> rule_;
  std::optional<Servers> servers_;  // last: it ends before what it uses
};

std::optional<Glu> read_glu(OptionReader& options) {
  const std::string rules[] = {"optimizer", "glu"};
  const bool glu = options.choice("local", "optimizer", rules, {"how workers move between pulls"}) == "glu";
  const Glu read{
      options.number("alpha", 2, 0, 100, {"local=glu: weight of the worker's own gradient"}),
      options.number("beta", 0.5, 0, 100, {"local=glu: weight of the servers' direction"}),
      options.number("local_lr", 0.2, 0, 100, {"local=glu: local learning rate, as a factor"}),
      options.number("local_decay", 0, 0, 10, {"local=glu: how much faster the local rate falls"})};
  for (const char* key : {"alpha", "beta", "local_lr", "local_decay"})
    options.only_with(key, glu, "local=glu");
  return glu ? std::optional(read) : std::nullopt;
}

}  // namespace

StrategyInfo ssd_info() {
  return {.name = "ssd",
          .summary = "gradients to servers at every step, weights back every few",
          .paper = "arXiv:2012.05396",
          .example = "ssd:delay=5,warmup=50",
          .make = [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const int servers = Shards::read_servers(options, ranks);
            return std::make_unique<Ssd>(
                SsdOptions{options.integer("delay", 1, 1, kMany, {"steps between pulls of weights"}),
                           options.integer("warmup", 100, 0, kMany, {"synchronous steps at the start"}),
                           read_glu(options), servers});
          },
          .sends = Sends::kPushes,
          .keeps_weights = true,
          .overlaps = true};
}

}  // namespace tacit
