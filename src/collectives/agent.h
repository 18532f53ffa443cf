// SPDX-License-Identifier: MIT
// Requests to agents and their answers, over an Endpoint. A request is a fixed header to the service, then,
// where it has one, its body; header and reply carry the caller's ticket, so that calls may overlap.
#pragma once

#include <atomic>
#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// On the wire as it lies in memory; ranks of one job run the same build on the same byte order.
struct RequestHeader {
  std::uint64_t body_bytes = 0;
  std::int64_t step = 0;
  std::uint32_t method = 0;
  std::uint32_t ticket = 0;
  std::uint32_t kind = 0;
  std::uint32_t unused = 0;
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
      : endpoint_(endpoint), lane_(lane), next_ticket_(2 * calls + static_cast<std::uint32_t>(tickets)) {}
  // See Comm.
  void post_all(std::uint32_t service, std::span<const Addressed> posts);
  void call_all(std::uint32_t service, std::span<const Addressed> calls);
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
  Endpoint& endpoint_;
  Tag::Lane lane_;
  std::atomic<std::uint32_t> next_ticket_;
};

// One request: its header and, where it has one, its body.
class Caller::Sending {
 public:
  Sending(Caller& caller, std::uint32_t service, std::uint32_t kind, const Addressed& to);
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

// Where the endpoint survives losses, an agent does too: what a lost rank asked is forgotten, and on_departure, where
// it is given, is told of every rank that leaves, on the agent's task.
std::unique_ptr<Agent> make_agent(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, std::uint32_t service,
                                  Handler handler, std::function<void(int rank)> on_departure = nullptr);

}  // namespace tacit
