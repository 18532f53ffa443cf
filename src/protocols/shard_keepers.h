// SPDX-License-Identifier: MIT
// The side of the servers that keeps: the shards of one rank, and how its agent answers for them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tacit/collectives/calls.h"
#include "tacit/core/clock.h"
#include "tacit/protocols/shards.h"

namespace tacit {

// What is asked of a shard, in Call::method.
struct ShardCall {
  // kBegin: where the shard is not kept there, it begins with the weights in the body. Answered by nothing.
  enum Kind : std::uint32_t { kPush = 1, kPull, kVisit, kExchange, kBegin } kind;
  std::size_t shard;

  std::uint32_t method() const { return static_cast<std::uint32_t>(shard) * kKinds + kind; }
  static ShardCall of(std::uint32_t method) { return {static_cast<Kind>(method % kKinds), method / kKinds}; }

 private:
  static constexpr std::uint32_t kKinds = 8;
};

// What is asked of a shard that is not kept here is answered by nothing, at once: whoever asked lets it begin.
//
// Threads  keep() before the agent begins, visit() is the trainer's, handle() the agent's.
class ShardKeepers {
 public:
  // `begin` makes the rule of a shard that begins here later; null where none does.
  ShardKeepers(Clock& clock, std::size_t shards, ShardBeginner begin);
  ~ShardKeepers();
  ShardKeepers(const ShardKeepers&) = delete;
  ShardKeepers& operator=(const ShardKeepers&) = delete;

  void keep(std::size_t shard, std::unique_ptr<ShardRule> rule);
  bool any() const;
  void handle(const Call& call, std::unique_ptr<Answer> answer);

  // Where to visit: the service and rank of these keepers, and as soon as the rule can answer a pull of which step.
  struct Place {
    Service& service;
    int rank;
    std::size_t shard;
    std::int64_t step;
  };
  // Runs the job on the agent. False where the shard is not kept here.
  bool visit(const Place& at, const std::function<void(ShardRule&)>& job);

 private:
  class Visit;
  class Keeper;
  Clock& clock_;
  const ShardBeginner begin_;
  std::vector<std::unique_ptr<Keeper>> keepers_;  // by shard; null: not kept here
  std::shared_ptr<Visit> visit_;                  // the last one; written by the trainer before it calls
};

}  // namespace tacit
