// SPDX-License-Identifier: MIT
// Compiled where the TCP transport is built; without_tcp.cc elsewhere.
#include <utility>

#include "tacit/core/error.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): one signature for all worlds
World World::tcp(TcpOptions tcp, WorldOptions options) {
  MakeComm make_comm = own_collectives(options, "TCP");
  tcp.limits = options.limits;
  tcp.lost_after = options.lost_after;
  tcp.take_back = tcp.take_back && options.survive && options.take_back;
  const bool returns = tcp.entry > 0;
  if (returns && !tcp.take_back)
    throw InvalidConfig(
        "TACIT_RETURN is set, so that this process shall come back to a job that goes on, and its world "
        "takes "
        "nobody back; use a strategy that goes on without lost ranks, or start the job without --restart");
  const std::string name = tcp.key ? "tcp+tls" : "tcp";
  auto fabric = open_tcp(std::move(tcp));
  // The others agreed when they met. Whoever admits a rank that has come back compares with it.
  if (!returns) agree_on_options(*fabric, options);
  return World(make_process_world(std::move(fabric), name, std::move(make_comm)));
}

}  // namespace tacit
