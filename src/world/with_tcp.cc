// SPDX-License-Identifier: MIT
// Compiled where the TCP transport is built; without_tcp.cc elsewhere.
#include <utility>

#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): one signature for all worlds
World World::tcp(TcpOptions tcp, WorldOptions options) {
  MakeComm make_comm = own_collectives(options, "TCP");
  tcp.limits = options.limits;
  tcp.lost_after = options.lost_after;
  const std::string name = tcp.key ? "tcp+tls" : "tcp";
  auto fabric = open_tcp(std::move(tcp));
  agree_on_options(*fabric, options);
  return World(make_process_world(std::move(fabric), name, std::move(make_comm)));
}

}  // namespace tacit
