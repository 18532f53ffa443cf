// SPDX-License-Identifier: MIT
// The classic parameter server: it keeps the weights and moves them by the mean of what workers push.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "tacit/core/channel.h"
#include "tacit/protocols/shards.h"
#include "tacit/strategy/push_codec.h"
#include "tacit/strategy/worker.h"

namespace tacit {

// One rank's part in such servers, which are shards of the weights, moved by optimisers like the worker's. When all ranks
// have pushed step t, their mean gradient moves the weights; a pull of step t answers with the weights after that and
// before step t+1, so that a rank asks for them before it pushes the next step.
//
// Lifetime  close() is collective and comes before the end; the worker must outlive this.
// Threads   the trainer's task; push and pull also one background exchange.
class Servers {
 public:
  // The shards begin with w.params(), which is the same on every rank. Throws InvalidConfig, which names the optimiser,
  // where that has no form for flat arrays. Collective.
  Servers(Worker& w, int servers);

  // How far a gradient that stays the same moves the weights per step in the end, in units of the learning rate.
  double gain() const { return gain_; }
  // Makes the gradient ready for the next push, in the form that the run wants; it moves weights by w.lr() times itself.
  void prepare(Worker& w, ConstFloatView g);
  void push(std::int64_t t) const { shards_->push(t, ready_); }
  void pull(std::int64_t t, FloatView out) const { shards_->pull(t, out); }
  void read(Collectives& over, std::int64_t t, FloatView out) const { shards_->read(over, t, out); }
  void close() { shards_->close(); }

  // While nothing is under way; t is the last step that was pushed.
  void save(Worker& w, std::int64_t t, StateWriter& state);
  void load(Worker& w, StateReader& state);

 private:
  const std::unique_ptr<PushCodec> codec_;
  std::span<const ConstBytes> ready_;  // the codec's
  double gain_ = 1;                    // of the optimiser, and of a momentum in front of the compressor
  std::optional<Channel<float>>
      rates_;  // where a shard lives here: eta_0, eta_1, ..., put in before the step is pushed
  std::optional<Shards> shards_;  // last: it ends before what it uses
};

}  // namespace tacit
