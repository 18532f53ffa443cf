// SPDX-License-Identifier: MIT
// The frame of strategies whose weights live on servers that wait for nobody.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/protocols/shards.h"
#include "tacit/strategy/strategy.h"

namespace tacit {

// The servers' weights are the model. step() exchanges with the shards that the strategy's start() has opened. Where
// gradients leave in buckets, each has shards of its own, which know nothing of the others.
//
// Losses   where the world goes on, a shard whose rank is lost begins anew on the next one, with the newest weights of
//          whoever asks for it first: Shards.
// Threads  the trainer's task.
class ShardedStrategy : public Strategy {
 public:
  explicit ShardedStrategy(int servers) : servers_(servers) {}

  void model(Worker& w, FloatView out) override;
  void finish(Worker& w) override;
  void save(Worker& w, StateWriter& state) override;
  void load(Worker& w, StateReader& state) override;

 protected:
  // Makes rank 0's weights everyone's, then the shards, each with a rule that begins with its part of them. The rule is
  // made again where a shard begins anew.
  void open(Worker& w, const ShardBeginner& rule);
  // There and back in one trip, and waits: out <- the rules' answers to push.x, which may be `out`.
  void exchange(Worker& w, const ShardPush& push, FloatView out);
  // The same of this part alone, one of w.buckets(), beside the trainer; the exchange() of the same push is then that of
  // the rest, and puts the answer where it belongs.
  void begin(Worker& w, Slice part, ShardPush push);

 private:
  // As Shards::read, of all pieces.
  void read(Worker& w, FloatView out);

  struct Piece {
    Slice bucket;
    std::unique_ptr<Shards> shards;
    std::unique_ptr<Pending> begun{};  // last: it ends before what it uses
  };

  const int servers_;
  Buffer answers_;  // to what has begun
  std::vector<Piece> pieces_;
};

}  // namespace tacit
