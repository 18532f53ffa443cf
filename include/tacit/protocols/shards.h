// SPDX-License-Identifier: MIT
// Server shards: a flat vector cut into `servers` parts, each kept by an agent of a worker rank.
#pragma once

#include <functional>
#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/options.h"
#include "tacit/core/state.h"

namespace tacit {

// A vector for the servers, with what an algorithm wants to go with it.
struct ShardPush {
  int from = 0;  // filled in where it arrives
  std::int64_t step = 0;
  double weight = 0;
  ConstFloatView x{};
};

// What one shard does with what workers push, and what it hands out. The algorithm of a parameter server is
// in its rule.
//
// Threads  the shard's agent alone.
class ShardRule {
 public:
  virtual ~ShardRule() = default;
  // x is the shard's part of what `from` pushed at `step`; readable until this returns.
  virtual void push(int from, std::int64_t step, ConstFloatView x);
  // A push and its answer, in one trip and at once. Here and in push, a rule that does not know the one is a Bug.
  virtual ConstFloatView exchange(const ShardPush& push);
  // The same as it came: a message, for rules that read those in their own way.
  virtual void receive(int from, std::int64_t step, ConstBytes message) {
    push(from, step, floats_in(message));
  }
  // The shard's answer to a pull. An empty view means not yet: the pull is asked again after the next push.
  virtual ConstFloatView pull(int from, std::int64_t step) = 0;
  // What a resumed run needs. load() comes before the first push.
  virtual void save(StateWriter&) const {}
  virtual void load(StateReader&) {}
};
using ShardRuleMaker = std::function<std::unique_ptr<ShardRule>(Slice part)>;

// One rank's view of all shards. Made on every rank alike.
//
// Lifetime  close() is collective and comes before the end; comm must outlive this.
// Threads   the trainer's task; push and pull also one background exchange.
class Shards {
 public:
  // Throws InvalidConfig for more servers than ranks, or less than one.
  static void check_fit(int servers, int ranks);
  // The option `servers` of strategies that have at least one. Throws as check_fit.
  static int read_servers(OptionReader& options, int ranks);
  // Where the shards of a vector of that length lie; there are fewer than servers where it is shorter.
  static std::vector<Slice> parts(std::size_t count, int servers);

  // Shard s lives on rank s * size / servers.
  Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule);
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  void push(std::int64_t step, ConstFloatView x) const;
  // One message for each of parts(), in their order, which the rules receive.
  void push(std::int64_t step, std::span<const ConstBytes> messages) const;
  void pull(std::int64_t step, FloatView out) const;
  // There and back in one trip: out <- the rules' answers to their parts of push.x, which may be `out`.
  void exchange(const ShardPush& push, FloatView out) const;
  // What a pull gives, but over another Comm: every shard's rank asks its own shard and tells the others. Collective.
  void read(Collectives& over, std::int64_t step, FloatView out) const;
  void close();

  // The state of this rank's shard, if it has one, as soon as the shard can answer a pull of that step.
  void save(std::int64_t step, StateWriter& state) const;
  // Before the first push; the rule answers a pull of this step from the start.
  void load(StateReader& state);
  static constexpr std::int64_t kBeforeTheFirst = -1;

 private:
  class Keeper;
  struct Place {
    int rank;
    Slice part;
    std::size_t shard;  // its number
  };
  Comm& comm_;
  std::vector<Place> places_;
  // The same in the order in which this rank goes to them: from its own place on, so that ranks do not all stand before
  // the same one.
  std::vector<Place> round_;
  std::unique_ptr<Keeper> keeper_;    // null where this rank keeps no shard
  std::unique_ptr<Service> service_;  // last: it stops before what it uses goes away
};

// The rule of synchronous averaging: a pull at a step answers with the mean of all ranks' pushes of that
// step, added in rank order, once the last has come.
std::unique_ptr<ShardRule> make_mean_rule(int ranks, FloatView shard);

}  // namespace tacit
