// SPDX-License-Identifier: MIT
// Synchronous SGD -- J. Chen, X. Pan, R. Monga, S. Bengio, R. Jozefowicz, "Revisiting Distributed Synchronous
// SGD", arXiv:1604.00981, without its backup workers.
//
// Idea        all ranks average their gradients at every step and take the same step.
// Symbols     x_t = w.params()   g_t^i = w.gradient()   P = w.size()
// Cost        one all-reduce of d floats per step; with servers=k, d floats up and d down instead.
// Reduces to  plain SGD on the global batch for every P (tests/strategies/ssgd_test.cc).
// Differs     no backup workers: the step waits for all. servers=k is the classic parameter server, sharded: it
//             averages gradients there and leaves the update to the workers, which therefore stay equal.
// Compressed  the mean is one of compressed gradients (collectives/compressed_mean.h): with ef on both sides,
//             dist-EF-SGD of arXiv:1905.10936; residuals are multiplied by eta_{t-1}/eta_t. Momentum belongs in front
//             (compress/momentum.h).
#include <memory>
#include <optional>

#include "tacit/collectives/compressed_mean.h"
#include "tacit/collectives/shards.h"
#include "tacit/core/error.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class Ssgd final : public Strategy {
 public:
  explicit Ssgd(int servers) : servers_(servers) {}

  void compress(const Compression& how) override {
    if (servers_ > 0)
      throw InvalidConfig(
          "ssgd: servers=" + std::to_string(servers_) + " does not take the compressor " + how.text +
          "; leave servers out, because a compressed mean is sharded over all workers anyway");
    how_ = how;
  }

  void start(Worker& w) override {
    Strategy::start(w);
    if (how_) compressed_.emplace(*how_, w.tensors(), w.rows());
    if (servers_ > 0)
      shards_.emplace(w.comm(), servers_, w.params().size(),
                      [&](Slice part) { return make_mean_rule(w.size(), tacit::part(w.params(), part)); });
  }

  void step(Worker& w) override {
    const FloatView g = w.gradient();
    if (shards_) {
      shards_->push(w.t(), g);
      shards_->pull(w.t(), g);
    } else if (compressed_) {
      // While eta is 0 nothing is applied, and residuals wait for the next eta as they are.
      const float rescale = w.lr() > 0 && last_lr_ > 0 ? last_lr_ / w.lr() : 1;
      compressed_->mean(w.comm(), g, {w.t(), w.rng(Rng::Use::kRounding), rescale});
      if (w.lr() > 0) last_lr_ = w.lr();
    } else {
      w.comm().mean(g);
    }
    w.apply(g);
  }

  void finish(Worker&) override {
    if (shards_) shards_->close();
  }

  void save(StateWriter& state) const override {
    if (!compressed_) return;
    state.write("ssgd.last_lr", std::span(&last_lr_, 1));
    compressed_->save(state);
  }
  void load(StateReader& state) override {
    if (!compressed_) return;
    state.read("ssgd.last_lr", std::span(&last_lr_, 1));
    compressed_->load(state);
  }

 private:
  const int servers_;  // 0: all-reduce
  std::optional<Shards> shards_;
  std::optional<Compression> how_;
  std::optional<CompressedMean> compressed_;
  float last_lr_ = 0;  // eta_{t-1}; 0: there was none
};

}  // namespace

StrategyInfo ssgd_info() {
  return {.name = "ssgd",
          .summary = "synchronous SGD: gradients averaged at every step",
          .paper = "arXiv:1604.00981",
          .example = "ssgd:servers=2",
          .make = [](OptionReader& options, int ranks) -> std::unique_ptr<Strategy> {
            const auto servers = options.integer(
                "servers", 0, 0, 1'000'000,
                {"ranks that hold the weights and take gradients; 0: all-reduce, no servers"});
            if (servers > 0) Shards::check_fit(static_cast<int>(servers), ranks);
            return std::make_unique<Ssgd>(static_cast<int>(servers));
          },
          .sends = Sends::kGradients,
          .applies_last = true};
}

}  // namespace tacit
