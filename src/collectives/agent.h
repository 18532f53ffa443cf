// SPDX-License-Identifier: MIT
// Requests to agents and their answers, over an Endpoint. A request is a fixed header to the service, then,
// where it has one, its body; header and reply carry the caller's ticket, so that calls may overlap.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "tacit/collectives/calls.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// On the wire as it lies in memory; ranks of one job run the same build on the same byte order.
struct RequestHeader {
  enum class Kind : std::uint32_t { kPost = 1, kCall = 2, kStop = 3 };

  RequestHeader() = default;
  RequestHeader(Kind kind, std::uint32_t ticket, const Call& call);
  Kind kind() const { return static_cast<Kind>(kind_and_method / Call::kMethods); }
  std::uint32_t method() const { return kind_and_method % Call::kMethods; }

  std::uint64_t body_bytes = 0;
  std::int64_t step = 0;
  double weight = 0;
  std::uint32_t kind_and_method = 0;
  std::uint32_t ticket = 0;
};
static_assert(sizeof(RequestHeader) == 32);

// The calling side. A reply carries only its ticket, so two on one lane take turns with the numbers: one has the even
// tickets, the other the odd ones. They begin again after 2^31 calls, which does no harm: by then the first has ended.
//
// Threads  any.
class Caller {
 public:
  enum class Tickets : std::uint32_t { kEven, kOdd };
  // `calls` have been made already: for tests.
  Caller(Endpoint& endpoint, Tag::Lane lane, Tickets tickets = Tickets::kEven, std::uint32_t calls = 0)
      : endpoint_(endpoint),
        lane_(lane),
        next_ticket_(2 * (calls + first_of(endpoint.entry(endpoint.rank()))) +
                     static_cast<std::uint32_t>(tickets)) {}
  // See Service, whose number is given here.
  void post_all(std::uint32_t service, std::span<const Addressed> posts);
  void call_all(std::uint32_t service, std::span<const Addressed> calls);
  std::vector<bool> try_call_all(std::uint32_t service, std::span<const Addressed> calls);
  void post(int peer, std::uint32_t service, const Call& call) {
    const Addressed one{peer, call};
    post_all(service, {&one, 1});
  }
  void call(int peer, std::uint32_t service, const Call& call, Bytes reply) {
    const Addressed one{peer, call, reply};
    call_all(service, {&one, 1});
  }

  // A request on its way. Dropping it takes it back, unless the peer is reading it.
  class Sending;
  // A post for whose way nobody waits. The body stays as it is until the post is over or dropped.
  std::unique_ptr<Sending> begin_post(int peer, std::uint32_t service, const Call& call);

 private:
  // A rank that has come back begins far from where its earlier lives were: an answer to one of those is nobody's.
  static constexpr std::uint32_t first_of(std::uint32_t entry) { return entry * 0x1E3779B1U; }
  // False where the job ended because a peer is lost, and this rank goes on without it.
  bool unless_lost(const std::function<void()>& job) const;

  Endpoint& endpoint_;
  Tag::Lane lane_;
  std::atomic<std::uint32_t> next_ticket_;
};

// One request: its header and, where it has one, its body.
class Caller::Sending {
 public:
  Sending(Caller& caller, std::uint32_t service, RequestHeader::Kind kind, const Addressed& to);
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  bool over();  // it has arrived, or never will
  void wait();
  Arrival answer() { return answer_->wait(); }

 private:
  const RequestHeader header_;
  Request answer_;
  Request head_;
  Request body_;
};

// A task that answers the requests to one service. It takes bodies and sends answers side by side: while one peer's is
// on its way it serves others, and each peer's requests in their order.
//
// Where the endpoint survives losses, an agent does too: what a lost rank asked is forgotten, and on_departure, where
// it is given, is told of every rank that leaves, on the agent's task.
//
// Lifetime  the destructor stops it.
class Agent {
 public:
  using OnDeparture = std::function<void(int rank)>;
  struct Address {
    Tag::Lane lane;
    std::uint32_t service;
  };
  Agent(Endpoint& endpoint, Tasks& tasks, Address at, Handler handler, OnDeparture on_departure = nullptr);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  // What was sent before is answered. Rethrows what the handler threw, once.
  void stop();

 private:
  class Desk;
  Endpoint& endpoint_;
  const Tag at_;
  const std::unique_ptr<Desk> desk_;  // the task's
  std::unique_ptr<Task> task_;
};

}  // namespace tacit
