// SPDX-License-Identifier: MIT
// Compiled where the TCP transport is built; without_tcp.cc elsewhere.
#include <utility>

#include "tacit/transport/tcp.h"
#include "world/backend.h"

namespace tacit {

World World::tcp(TcpOptions tcp, WorldOptions options) {
  tcp.limits = options.limits;
  tcp.lost_after = options.lost_after;
  const std::string name = tcp.key ? "tcp+tls" : "tcp";
  return World(make_process_world(open_tcp(std::move(tcp)), name, std::move(options)));
}

}  // namespace tacit
