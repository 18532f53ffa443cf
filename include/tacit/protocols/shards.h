// SPDX-License-Identifier: MIT
// Server shards: a flat vector cut into `servers` parts, each kept by an agent of a worker rank.
#pragma once

#include <functional>
#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/options.h"
#include "tacit/core/state.h"

namespace tacit {

class ShardKeepers;  // protocols/shard_keepers.h

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
// The rule of a shard that begins anew with these weights of its part. Called by agents, by several at once.
using ShardBeginner = std::function<std::unique_ptr<ShardRule>(ConstFloatView weights)>;

// One rank's view of all shards. Made on every rank alike.
//
// Losses    with a ShardBeginner, in a world that goes on without ranks it loses, shards do too. Of the ranks that live,
//           those that came first (Collectives::entry), the next one after a shard's first place keeps it: so it moves
//           when its keeper is lost and at no other time, and nobody hands one over. What the lost rank had of it is
//           gone. Whoever asks the next keeper first brings weights of its own, with which the shard begins anew; agents
//           answer at once, whatever trainers do, so that nobody waits for somebody to notice a loss. Only calls that
//           were not answered are made again: what is given to a shard whose keeper lives counts once. What was on its
//           way to one that was lost may be in the weights that it begins anew with, and then counts twice.
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

  // Shard s lives on rank s * size / servers, at first. A rank that came back after a loss keeps none by then.
  Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule,
         ShardBeginner begin = nullptr);
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  void push(std::int64_t step, ConstFloatView x) const;
  // One message for each of parts(), in their order, which the rules receive.
  void push(std::int64_t step, std::span<const ConstBytes> messages) const;
  void pull(std::int64_t step, FloatView out) const;
  // There and back in one trip: out <- the rules' answers to their parts of push.x. `own`: with what shards begin anew
  // where their keepers are lost. It may be `out`: where a keeper was lost in the middle of its answer, the shard then
  // begins with weights of two ages. push.x may be `out` too, where shards do not survive.
  void exchange(const ShardPush& push, FloatView out, ConstFloatView own = {}) const;
  // What a pull gives, but over another Comm: every shard's rank asks its own shard and tells the others. Where ranks
  // may be lost, `out` begins as this rank's own weights: those take the place of what was lost in the middle of it.
  // Collective.
  void read(Collectives& over, std::int64_t step, FloatView out) const;
  void close();

  // The state of the shards that this rank keeps, as soon as they can answer a pull of that step. `own` as above.
  void save(std::int64_t step, StateWriter& state, ConstFloatView own = {}) const;
  // Before the first push; the rule answers a pull of this step from the start.
  void load(StateReader& state);
  static constexpr std::int64_t kBeforeTheFirst = -1;

 private:
  struct Place {
    int rank;  // the first
    Slice part;
    std::size_t shard;  // its number
  };
  using CallTo = std::function<Addressed(const Place&)>;  // but for whom it goes to
  std::vector<int> living() const { return survives_ ? comm_.living() : std::vector<int>{}; }
  int keeper_of(const Place& place, std::span<const int> living) const;
  std::vector<Addressed> addressed(std::span<const Place> to, const CallTo& call) const;
  static CallTo pull_into(FloatView out, std::int64_t step);
  void ask(std::vector<Place> due, const CallTo& call, ConstFloatView own) const;
  void begin(std::span<const Place> anew, ConstFloatView own) const;

  Comm& comm_;
  const bool survives_;
  std::vector<Place> places_;
  // The same in the order in which this rank goes to them: from its own place on, so that ranks do not all stand before
  // the same one.
  std::vector<Place> round_;
  std::unique_ptr<ShardKeepers> keepers_;
  std::unique_ptr<Service> service_;  // last: it stops before what it uses goes away
};

// The rule of synchronous averaging: a pull at a step answers with the mean of all ranks' pushes of that
// step, added in rank order, once the last has come.
std::unique_ptr<ShardRule> make_mean_rule(int ranks, FloatView shard);

}  // namespace tacit
