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

// The calling side. Threads: any.
class Caller {
 public:
  Caller(Endpoint& endpoint, Tag::Lane lane) : endpoint_(endpoint), lane_(lane) {}
  void post(int peer, std::uint32_t service, const Call& call);
  void call(int peer, std::uint32_t service, const Call& call, Bytes reply);

 private:
  void send(int peer, std::uint32_t service, std::uint32_t ticket, bool wants_reply, const Call& call);

  Endpoint& endpoint_;
  Tag::Lane lane_;
  std::atomic<std::uint32_t> next_ticket_{0};
};

std::unique_ptr<Agent> make_agent(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, std::uint32_t service,
                                  Handler handler);

}  // namespace tacit
