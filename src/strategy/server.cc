// SPDX-License-Identifier: MIT
#include "tacit/strategy/server.h"

#include <utility>

#include "tacit/collectives/rounds.h"
#include "tacit/core/buffer.h"

namespace tacit {
namespace {

class ServerRule final : public ShardRule {
 public:
  ServerRule(int ranks, FloatView weights, std::unique_ptr<Optimizer> optimizer, Channel<float>& rates)
      : rounds_(ranks, weights), optimizer_(std::move(optimizer)), rates_(rates) {
    weights_.assign(weights);
  }

  void push(int from, std::int64_t step, ConstFloatView x) override {
    if (!rounds_.add(from, step, x)) return;
    const float rate = rates_.get();  // it is there: this rank has pushed
    optimizer_->step(rounds_.mean(), rate, weights_.view());
    done_ = step;
  }
  ConstFloatView pull(int, std::int64_t step) override {
    return done_ == step ? weights_.view() : ConstFloatView();
  }

  // Pushes of a step that is not complete are not saved: who pushed them pushes them again.
  void save(StateWriter& state) const override {
    state.write("server.done", static_cast<std::uint64_t>(done_));
    state.write("server.weights", weights_.view());
    optimizer_->save(state);
  }
  void load(StateReader& state) override {
    done_ = static_cast<std::int64_t>(state.number("server.done"));
    state.read("server.weights", weights_.view());
    optimizer_->load(state);
  }

 private:
  Rounds rounds_;
  Buffer weights_;
  const std::unique_ptr<Optimizer> optimizer_;
  Channel<float>& rates_;
  std::int64_t done_ = Shards::kBeforeTheFirst;  // the last step that is in the weights
};

}  // namespace

std::unique_ptr<ShardRule> make_server_rule(int ranks, FloatView weights,
                                            std::unique_ptr<Optimizer> optimizer, Channel<float>& rates) {
  return std::make_unique<ServerRule>(ranks, weights, std::move(optimizer), rates);
}

}  // namespace tacit
