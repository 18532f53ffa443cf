// SPDX-License-Identifier: MIT
// Requests that a peer answers while its trainer does something else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tacit/core/views.h"

namespace tacit {

// What a peer asks of an agent. step and weight are whatever the two agree on.
struct Call {
  int from = 0;              // filled in where it arrives
  std::uint32_t method = 0;  // below kMethods
  std::int64_t step = 0;
  double weight = 0;
  ConstBytes body{};  // readable until the handler returns

  static constexpr std::uint32_t kMethods = 1U << 30U;
};

// The way back to a caller. May be kept and used later, once, by the agent's own task.
class Answer {
 public:
  virtual ~Answer() = default;
  // Both return at once, however slow the caller is to take it. The first copies the reply; the second leaves it where
  // it is, unchanged while `keep` lives, and drops `keep` some time after it has gone.
  virtual void send(ConstBytes reply) = 0;
  virtual void send(ConstBytes reply, std::shared_ptr<const void> keep) = 0;
};

// Runs on the agent's task, one call at a time, those of one caller in the order in which it made them. answer is null
// for a post.
using Handler = std::function<void(const Call& call, std::unique_ptr<Answer> answer)>;

// A call with its way there and, unless it is a post, the place for its answer.
struct Addressed {
  int peer = 0;
  Call call{};
  Bytes reply{};
};

// One service, on every rank that made it: an agent of this rank that answers, and the way to those of its peers. The
// agent takes requests and sends answers side by side: a peer that is slow to send or to take does not keep it from
// serving others.
//
// Threads   post and call: any task. A rank may call its own agent, but a handler must not wait for its own.
// Lifetime  the destructor stops the agent; peers must not call it any more (a barrier before says so).
// Errors    what the handler throws ends the agent and loses this rank to its peers; stop() rethrows it.
class Service {
 public:
  virtual ~Service() = default;
  // Begins to answer, where the service was made without a handler: for one that uses the service itself, which the
  // agent must not look for before it is there. Once; what has come meanwhile waits.
  virtual void answer(Handler handler) = 0;
  virtual void stop() = 0;
  // One way, to several peers at once. Returns when all bodies may be changed.
  virtual void post_all(std::span<const Addressed> posts) = 0;
  // There and back, to several peers at once: answers are taken in whatever order they come. Each must have the length
  // of its `reply`.
  virtual void call_all(std::span<const Addressed> calls) = 0;
  // The same, for worlds that go on without the ranks they lose: says of each call whether it was answered. It was not
  // where its peer is lost, or where that answered nothing to a call that has a place for more.
  virtual std::vector<bool> try_call_all(std::span<const Addressed> calls) = 0;
  void post(int peer, const Call& call) {
    const Addressed one{peer, call};
    post_all({&one, 1});
  }
  void call(int peer, const Call& call, Bytes reply) {
    const Addressed one{peer, call, reply};
    call_all({&one, 1});
  }
};

class Calls {
 public:
  virtual ~Calls() = default;
  // The n-th service that a rank makes is the n-th of every other: all ranks make the same ones in the same order. Null:
  // this rank calls and, unless Service::answer follows, answers nobody. What comes late for one that has stopped reaches no other.
  virtual std::unique_ptr<Service> serve(Handler handler) = 0;
};

}  // namespace tacit
