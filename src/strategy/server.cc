// SPDX-License-Identifier: MIT
#include "tacit/strategy/server.h"

#include <utility>
#include <vector>

#include "tacit/collectives/rounds.h"

namespace tacit {
namespace {

class ServerRule final : public ShardRule {
 public:
  ServerRule(int ranks, ConstFloatView weights, std::unique_ptr<Optimizer> optimizer, Channel<float>& rates)
      : rounds_(ranks, weights.size()),
        weights_(weights.begin(), weights.end()),
        optimizer_(std::move(optimizer)),
        rates_(rates) {}

  void push(int from, std::int64_t step, ConstFloatView x) override {
    if (!rounds_.add(from, step, x)) return;
    optimizer_->step(rounds_.mean(), rates_.get(), weights_);  // the rate is there: this rank has pushed
    done_ = step;
  }
  ConstFloatView pull(int, std::int64_t step) override {
    return done_ == step ? ConstFloatView(weights_) : ConstFloatView();
  }

  // Pushes of a step that is not complete are not saved: who pushed them pushes them again.
  void save(StateWriter& state) const override {
    state.write("server.done", static_cast<std::uint64_t>(done_));
    state.write("server.weights", ConstFloatView(weights_));
    optimizer_->save(state);
  }
  void load(StateReader& state) override {
    done_ = static_cast<std::int64_t>(state.number("server.done"));
    state.read("server.weights", FloatView(weights_));
    optimizer_->load(state);
  }

 private:
  Rounds rounds_;
  std::vector<float> weights_;
  const std::unique_ptr<Optimizer> optimizer_;
  Channel<float>& rates_;
  std::int64_t done_ = Shards::kBeforeTheFirst;  // the last step that is in the weights
};

}  // namespace

std::unique_ptr<ShardRule> make_server_rule(int ranks, ConstFloatView weights,
                                            std::unique_ptr<Optimizer> optimizer, Channel<float>& rates) {
  return std::make_unique<ServerRule>(ranks, weights, std::move(optimizer), rates);
}

}  // namespace tacit
