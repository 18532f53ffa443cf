// SPDX-License-Identifier: MIT
// The frame of strategies whose weights live on servers that wait for nobody.
#pragma once

#include <optional>

#include "tacit/protocols/shards.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

// The servers' weights are the model. step() exchanges with shards(), which the strategy's start() has opened.
//
// Threads  the trainer's task.
class ShardedStrategy : public Strategy {
 public:
  explicit ShardedStrategy(int servers) : servers_(servers) {}

  void model(Worker& w, FloatView out) override {
    if (!shards_) return copy(w.params(), out);
    w.comm().barrier();  // nobody's exchange is under way: all shards are read at one moment
    shards_->read(w.comm(), w.t(), out);
  }
  void finish(Worker& w) override {
    model(w, w.params());
    shards_->close();
    shards_.reset();
  }
  // Between the barriers no rank has an exchange under way.
  void save(Worker& w, StateWriter& state) override {
    w.comm().barrier();
    shards_->save(w.t(), state);
    w.comm().barrier();
  }
  void load(Worker& w, StateReader& state) override {
    shards_->load(state);
    w.comm().barrier();
  }

 protected:
  // Makes rank 0's weights everyone's, then the shards, each with a rule that begins with its part of them.
  void open(Worker& w, const std::function<std::unique_ptr<ShardRule>(FloatView weights)>& rule) {
    Strategy::start(w);
    shards_.emplace(w.comm(), servers_, w.params().size(),
                    [&](Slice shard) { return rule(part(w.params(), shard)); });
  }
  const Shards& shards() const { return *shards_; }

 private:
  const int servers_;
  std::optional<Shards> shards_;
};

}  // namespace tacit
