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
// Compressed  the mean is one of compressed gradients (src/means/): with ef on both sides, dist-EF-SGD of
//             arXiv:1905.10936. Momentum belongs in front (compress/momentum.h).
#include <memory>

#include "tacit/protocols/shards.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class Ssgd final : public Strategy {
 public:
  explicit Ssgd(int servers) : servers_(servers) {}

  std::string why_not(const Compression& how) const override {
    if (servers_ == 0) return "";
    return "servers=" + std::to_string(servers_) + " does not take the compressor " + how.text +
           "; leave servers out, because a compressed mean is sharded over all workers anyway";
  }

  void start(Worker& w) override {
    Strategy::start(w);
    mean_ = w.make_mean({.sends = Sends::kGradients, .servers = servers_});
  }

  void ready(Worker& w, Slice part) override { mean_->begin(w, part, w.gradient()); }
  bool overlap_pays() const override { return servers_ == 0; }

  void step(Worker& w) override {
    mean_->mean(w, w.gradient());
    w.apply(w.gradient());
  }

  void finish(Worker& w) override { mean_->finish(w); }

  void save(Worker& w, StateWriter& state) override { mean_->save(w, state); }
  void load(Worker& w, StateReader& state) override { mean_->load(w, state); }

 private:
  const int servers_;  // 0: all-reduce
  std::unique_ptr<Mean> mean_;
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
          .applies_last = true,
          .overlaps = true};
}

}  // namespace tacit
