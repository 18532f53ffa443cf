// SPDX-License-Identifier: MIT
// What strategies use to talk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "tacit/core/views.h"
#include "tacit/transport/endpoint.h"
#include "tacit/transport/ledger.h"

namespace tacit {

class Comm;

// An exchange in the background.
//
// Lifetime  the destructor waits for the exchange and swallows its error; call wait().
class Pending {
 public:
  virtual ~Pending() = default;
  virtual void wait() = 0;  // rethrows what the exchange threw
  virtual bool done() = 0;
};

// What a peer asks of an agent.
struct Call {
  int from = 0;
  std::uint32_t method = 0;
  std::int64_t step = 0;
  ConstBytes body;  // readable until the handler returns
};

// The way back to a caller. May be kept and used later, once, by the agent's own task.
class Answer {
 public:
  virtual ~Answer() = default;
  // The reply stays as it is until the request has ended.
  virtual Request begin(ConstBytes reply) = 0;
  void send(ConstBytes reply) { begin(reply)->wait(); }
};

// A call with its way there and, unless it is a post, the place for its answer.
struct Addressed {
  int peer = 0;
  Call call{};
  Bytes reply{};
};

// Runs on the agent's task, one call at a time. answer is null for a post.
using Handler = std::function<void(const Call& call, std::unique_ptr<Answer> answer)>;

// A task that answers peers while the trainer computes.
//
// Lifetime  the destructor stops it; peers must not call it any more (a barrier before says so).
// Errors    what the handler throws ends the agent and loses this rank to its peers; stop() rethrows it.
class Agent {
 public:
  virtual ~Agent() = default;
  virtual void stop() = 0;
};

// Takes what a rank sent; the bytes are readable until it returns.
using Take = std::function<void(int from, ConstBytes message)>;

// Collectives are called by all ranks in the same order. All of them work for 1 rank and for empty views.
//
// Bits     a sum or mean ends with the same bits on every rank and in every world.
// Threads  one task at a time, except call and post, which any task may use.
// Errors   PeerLost, Timeout, Mismatch, Interrupted.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const Ledger& ledger() const = 0;
  virtual Clock& clock() = 0;

  // Whether this world goes on without ranks it loses. Then collectives are among those that live, and calls, posts and
  // exchanges with a lost rank throw PeerLost, after which it is no longer among the living.
  virtual bool survives() const { return false; }
  virtual std::vector<Loss> losses() const { return {}; }
  // In their order, this rank among them. Throws PeerLost where it is itself lost to the others.
  virtual std::vector<int> living() const {
    std::vector<int> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  virtual void sum(FloatView x) = 0;
  virtual void mean(FloatView x) = 0;
  // Among some ranks alone: those of `group`, in ascending order, call it with the same number, and groups that have no
  // rank in common know nothing of each other. A pair of ranks uses a number once, and numbers in the same order.
  virtual void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) = 0;
  // The part of a vector of that length which reduce_scatter finishes on a rank.
  virtual Slice own_slice(std::size_t count, int rank) const = 0;
  // Afterwards x[own_slice] is the sum over ranks; the rest of x is unspecified.
  virtual void reduce_scatter(FloatView x) = 0;
  // Every rank's x[own_slice] reaches all.
  virtual void all_gather(FloatView x) = 0;
  // out[r] goes to rank r. Messages may have any length; take gets them in the order of the ranks, out[rank()] in its
  // turn.
  virtual void all_to_all(std::span<const ConstBytes> out, const Take& take) = 0;
  // The same, but only the ranks in `speakers` send (equal on every rank); nobody waits for the others.
  virtual void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                           const Take& take) = 0;
  virtual void broadcast(Bytes x, int root) = 0;
  virtual void barrier() = 0;

  // Sends out and receives in, which must have the length the peer sends.
  virtual void exchange(int peer, ConstBytes out, Bytes in) = 0;

  // Runs fn on this rank's background task, with a Comm of its own. Exchanges run in the order they were
  // started; every rank must start the same ones in the same order.
  virtual std::unique_ptr<Pending> start(std::function<void(Comm&)> fn) = 0;

  // Answers calls and posts to `service` (any number that all ranks agree on) until stopped.
  virtual std::unique_ptr<Agent> serve(std::uint32_t service, Handler handler) = 0;
  // One way, to several peers at once. Returns when all bodies may be changed.
  virtual void post_all(std::uint32_t service, std::span<const Addressed> posts) = 0;
  // There and back, to several peers at once: answers are taken in whatever order they come. Each must have the length
  // of its `reply`.
  virtual void call_all(std::uint32_t service, std::span<const Addressed> calls) = 0;
  void post(int peer, std::uint32_t service, const Call& call) {
    const Addressed one{peer, call};
    post_all(service, {&one, 1});
  }
  void call(int peer, std::uint32_t service, const Call& call, Bytes reply) {
    const Addressed one{peer, call, reply};
    call_all(service, {&one, 1});
  }
};

}  // namespace tacit
