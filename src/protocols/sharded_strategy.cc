// SPDX-License-Identifier: MIT
#include "protocols/sharded_strategy.h"

#include <utility>

#include "tacit/core/error.h"

namespace tacit {

void ShardedStrategy::open(Worker& w, const ShardBeginner& rule) {
  Strategy::start(w);
  const Slice whole[] = {{0, w.params().size()}};
  for (const Slice& bucket : w.buckets().empty() ? std::span<const Slice>(whole) : w.buckets()) {
    const FloatView weights = part(w.params(), bucket);
    const auto of_part = [&](Slice shard) { return rule(part(weights, shard)); };
    pieces_.push_back(
        {bucket, std::make_unique<Shards>(w.comm(), servers_, bucket.count, of_part, /*begin=*/rule)});
  }
  if (pieces_.size() > 1) answers_.assign(w.params());
}

void ShardedStrategy::begin(Worker& w, Slice part, ShardPush push) {
  for (Piece& each : pieces_) {
    if (each.bucket != part) continue;
    TACIT_CHECK(!each.begun, "a part of an exchange was begun twice");
    push.x = tacit::part(push.x, part);
    each.begun = w.comm().start([push, shards = each.shards.get(), out = tacit::part(answers_.view(), part),
                                 x = tacit::part(w.params(), part)](Collectives&) {
      shards->exchange(push, out, x);  // the trainer reads x too, and changes it when this has ended
    });
  }
}

void ShardedStrategy::exchange(Worker& w, const ShardPush& push, FloatView out) {
  for (Piece& each : pieces_) {
    if (each.begun) continue;
    ShardPush own = push;
    own.x = part(push.x, each.bucket);
    each.shards->exchange(own, part(out, each.bucket), part(w.params(), each.bucket));
  }
  for (Piece& each : pieces_) {
    if (!each.begun) continue;
    std::exchange(each.begun, nullptr)->wait();
    copy(part(answers_.view(), each.bucket), part(out, each.bucket));
  }
}

void ShardedStrategy::model(Worker& w, FloatView out) {
  copy(w.params(), out);
  read(w, out);
}

void ShardedStrategy::read(Worker& w, FloatView out) {
  if (pieces_.empty()) return;
  w.comm().barrier();  // nobody's exchange is under way: all shards are read at one moment
  for (const Piece& each : pieces_) each.shards->read(w.comm(), w.t(), part(out, each.bucket));
}

void ShardedStrategy::finish(Worker& w) {
  read(w, w.params());
  for (const Piece& each : pieces_) each.shards->close();
  pieces_.clear();
}

// Between the barriers no rank has an exchange under way.
void ShardedStrategy::save(Worker& w, StateWriter& state) {
  w.comm().barrier();
  for (const Piece& each : pieces_) each.shards->save(w.t(), state, part(w.params(), each.bucket));
  w.comm().barrier();
}

void ShardedStrategy::load(Worker& w, StateReader& state) {
  for (const Piece& each : pieces_) each.shards->load(state);
  w.comm().barrier();
}

}  // namespace tacit
