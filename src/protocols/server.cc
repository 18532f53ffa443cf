// SPDX-License-Identifier: MIT
#include "protocols/server.h"

#include <utility>

#include "protocols/rounds.h"
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

Servers::Servers(Worker& w, int servers) : codec_(w.make_push_codec(servers)) {
  auto optimizer = w.new_optimizer();  // with what the codec left of its momentum
  gain_ = optimizer->gain() * codec_->gain();
  shards_.emplace(w.comm(), servers, w.params().size(), [&](Slice shard) {
    rates_.emplace(w.tasks());
    return codec_->decoding(shard, std::make_unique<ServerRule>(w.size(), part(w.params(), shard),
                                                                std::move(optimizer), *rates_));
  });
}

void Servers::prepare(Worker& w, ConstFloatView g) {
  ready_ = codec_->encode(w, g);  // first: it may refuse g, and then nothing has happened
  if (rates_) rates_->put(w.lr());
}

void Servers::save(Worker& w, std::int64_t t, StateWriter& state) {
  codec_->save(w, state);
  shards_->save(t, state);
}

void Servers::load(Worker& w, StateReader& state) {
  codec_->load(w, state);
  shards_->load(state);
}

}  // namespace tacit
