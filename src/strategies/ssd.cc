// SPDX-License-Identifier: MIT
// SSD-SGD -- Y. Xu, D. Dong, Y. Zhao, W. Xu, X. Liao, "SSD-SGD: Communication Sparsification for Distributed Deep
// Learning Training", ACM TACO 20(1), 2023, arXiv:2012.05396.
//
// Idea        workers push every gradient to synchronous servers but pull weights every k-th step only, in the
//             background; in between they move their own weights by their gradient and the servers' recent direction.
// Symbols     w_loc = w.params()   g = w.gradient()   k = o_.delay   T_w = o_.warmup   w_pre = last_pulled_
//             G = move_ / span_, the servers' mean step per unit of learning rate   loc_lr = o_.local_lr * w.lr()
// Cost        d floats up per step, d down per k steps; both behind the next gradient, buckets behind the rest of their own
//             too. In warm-up both at every step.
// Reduces to  ssgd:servers=K bit for bit while in warm-up; plain SGD for P = 1, alpha=1, beta=0, local_lr=1.
// Compressed  what workers push, in warm-up too, so that residuals and a momentum in front know no seam; pulls are exact
//             (CD-SGD, arXiv:2106.10796).
// Differs     the released program has three defects (docs/strategies/ssd.md); this is the rule in normalised form: g
//             and G are means, so that rates need no factor P, and g has the gain of the servers' momentum. G comes
//             from two pulls. Weight decay acts on the servers alone.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "protocols/server.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/protocols/shards.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

struct SsdOptions {
  std::int64_t delay, warmup;
  double alpha, beta, local_lr, local_decay;
  int servers;
};

class Ssd final : public Strategy {
 public:
  explicit Ssd(const SsdOptions& options) : o_(options) {}

  void start(Worker& w) override {
    Strategy::start(w);
    for (Buffer* each : {&pulled_, &last_pulled_, &move_}) each->assign(w.params());
    servers_.emplace(w, o_.servers);
  }

  void ready(Worker& w, Slice part) override {
    servers_->begin(w, part, w.gradient(), pulled_at_once(w.t()));
  }

  void step(Worker& w) override {
    if (pulling_) take_pulled(w);  // in the last step: it takes effect one gradient late
    t_ = w.t();
    path_ += w.lr();
    peak_ = std::max(peak_, w.lr());
    pulling_ = (t_ + 1) % o_.delay == 0;
    servers_->push(w, w.gradient(), pulled_at_once(t_));
    if (t_ < o_.warmup) {
      servers_->wait();
      return pulling_ ? take_pulled(w) : pulled_.give(w.params());
    }
    if (pulling_) servers_->pull(w, pulled_.view());
    local_step(w);
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
    for (const float* each : {&path_, &span_, &peak_}) state.write("ssd.rates", std::span(each, 1));
    for (const Buffer* each : {&pulled_, &last_pulled_, &move_}) state.write("ssd.weights", each->view());
    servers_->save(w, t_, state);
  }
  void load(Worker& w, StateReader& state) override {
    t_ = static_cast<std::int64_t>(state.number("ssd.t"));
    pulling_ = state.number("ssd.pulling") != 0;
    for (float* each : {&path_, &span_, &peak_}) state.read("ssd.rates", std::span(each, 1));
    for (Buffer* each : {&pulled_, &last_pulled_, &move_}) state.read("ssd.weights", each->view());
    servers_->load(w, state);
  }

 private:
  std::optional<FloatView> pulled_at_once(std::int64_t t) {
    return t < o_.warmup ? std::optional(pulled_.view()) : std::nullopt;
  }
  void take_pulled(Worker& w) {
    servers_->wait_for_pull();
    pulled_.give(w.params());
    kernels::difference(last_pulled_.view(), pulled_.view(), move_.view());
    last_pulled_.take(pulled_.view());
    span_ = std::exchange(path_, 0.0F);
    pulling_ = false;
  }
  // GLU: w_loc <- w_loc - loc_lr (alpha gain g + beta G).
  void local_step(Worker& w) {
    const double rate = o_.local_lr * w.lr() * (peak_ > 0 ? std::pow(w.lr() / peak_, o_.local_decay) : 1);
    kernels::axpy(static_cast<float>(-rate * o_.alpha * servers_->gain()), w.gradient(), w.params());
    if (span_ > 0) kernels::axpy(static_cast<float>(-rate * o_.beta / span_), move_.view(), w.params());
  }

  const SsdOptions o_;
  std::int64_t t_ = Shards::kBeforeTheFirst;  // the last step that was pushed
  bool pulling_ = false;                      // whether weights were asked for in it and are not taken
  float path_ = 0;                            // eta summed over the servers' steps since the last pull
  float span_ = 0;                            // and between the two pulls of move_; 0: there were not two
  float peak_ = 0;                            // the largest eta so far
  Buffer pulled_;                             // the servers' while they pull
  Buffer last_pulled_;
  Buffer move_;                     // how far the servers came between two pulls, backwards
  std::optional<Servers> servers_;  // last: it ends before what it uses
};

}  // namespace

StrategyInfo ssd_info() {
  return {.name = "ssd",
          .summary = "gradients to servers at every step, weights back every few",
          .paper = "arXiv:2012.05396",
          .example = "ssd:delay=5,warmup=50",
          .make = [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const int servers = Shards::read_servers(options, ranks);
            return std::make_unique<Ssd>(SsdOptions{
                options.integer("delay", 5, 1, kMany, {"steps between pulls of weights"}),
                options.integer("warmup", 100, 0, kMany, {"synchronous steps at the start"}),
                options.number("alpha", 2, 0, 100, {"weight of the worker's own gradient"}),
                options.number("beta", 0.5, 0, 100, {"weight of the servers' direction"}),
                options.number("local_lr", 0.2, 0, 100, {"local learning rate, as a factor"}),
                options.number("local_decay", 0, 0, 10, {"how much faster the local rate falls"}), servers});
          },
          .sends = Sends::kPushes,
          .keeps_weights = true,
          .overlaps = true};
}

}  // namespace tacit
