// SPDX-License-Identifier: MIT
#include "protocols/server.h"

#include <span>
#include <utility>

#include "protocols/rounds.h"
#include "tacit/core/buffer.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"
#include "tacit/protocols/shards.h"
#include "tacit/strategy/push_codec.h"

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

// What is pushed alone.
struct Servers::Piece {
  Piece(Worker& w, int servers, std::unique_ptr<PushCodec> with, const Optimizer& optimizer)
      : codec(std::move(with)), bucket(codec->bucket()) {
    const FloatView weights = part(w.params(), bucket);
    shards.emplace(w.comm(), servers, bucket.count, [&](Slice shard) {
      rates.emplace(w.tasks());
      return codec->decoding(
          shard, std::make_unique<ServerRule>(w.size(), part(weights, shard), optimizer.fresh(), *rates));
    });
  }

  const std::unique_ptr<PushCodec> codec;
  const Slice bucket;
  std::span<const ConstBytes> messages;  // the codec's
  bool begun = false;                    // to push the gradient that is not whole yet
  std::optional<Channel<float>>
      rates;  // where a shard lives here: eta_0, eta_1, ..., put in before the step is pushed
  std::optional<Shards> shards;
  std::unique_ptr<Pending> exchange;  // last: it ends before what it uses
};

Servers::Servers(Worker& w, int servers) {
  auto codecs = w.make_push_codecs(servers);
  const auto optimizer = w.new_optimizer();  // with what the codecs left of its momentum
  gain_ = optimizer->gain() * codecs[0]->gain();
  for (auto& codec : codecs)
    pieces_.push_back(std::make_unique<Piece>(w, servers, std::move(codec), *optimizer));
}

Servers::~Servers() = default;

void Servers::start(Worker& w, Piece& piece, ConstFloatView g, std::optional<FloatView> out) {
  if (piece.exchange) piece.exchange->wait();  // it reads what the codec writes
  piece.messages = piece.codec->encode(w, g);  // first: it may refuse g, and then nothing has happened
  if (piece.rates) piece.rates->put(w.lr());
  piece.exchange = w.comm().start([&piece, t = w.t(), out](Collectives&) {
    piece.shards->push(t, piece.messages);
    if (out) piece.shards->pull(t, part(*out, piece.bucket));
  });
}

void Servers::begin(Worker& w, Slice part, ConstFloatView g, std::optional<FloatView> out) {
  for (const auto& each : pieces_) {
    if (each->bucket != part) continue;
    TACIT_CHECK(!std::exchange(each->begun, true), "a part of a push was begun twice");
    start(w, *each, g, out);
  }
}

void Servers::push(Worker& w, ConstFloatView g, std::optional<FloatView> out) {
  for (const auto& each : pieces_)
    if (!std::exchange(each->begun, false)) start(w, *each, g, out);
}

void Servers::pull(Worker& w, FloatView out) {
  pull_ = w.comm().start([this, t = w.t(), out](Collectives&) {
    for (const auto& each : pieces_) each->shards->pull(t, part(out, each->bucket));
  });
}

void Servers::wait_for_pull() {
  if (pull_) pull_->wait();
}

void Servers::wait() {
  for (const auto& each : pieces_)
    if (each->exchange) each->exchange->wait();
  wait_for_pull();
}

void Servers::read(Collectives& over, std::int64_t t, FloatView out) const {
  for (const auto& each : pieces_) each->shards->read(over, t, part(out, each->bucket));
}

void Servers::close() {
  for (const auto& each : pieces_) each->shards->close();
}

void Servers::save(Worker& w, std::int64_t t, StateWriter& state) {
  for (const auto& each : pieces_) {
    each->codec->save(w, state);
    each->shards->save(t, state);
  }
}

void Servers::load(Worker& w, StateReader& state) {
  for (const auto& each : pieces_) {
    each->codec->load(w, state);
    each->shards->load(state);
  }
}

}  // namespace tacit
