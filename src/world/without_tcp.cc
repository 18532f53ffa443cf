// SPDX-License-Identifier: MIT
// Compiled where the TCP transport is not built; with_tcp.cc elsewhere.
#include "tacit/core/error.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is that of with_tcp.cc
World World::tcp(TcpOptions, WorldOptions) {
  throw InvalidConfig(
      "this build has no TCP transport; install libboost-dev and libssl-dev, configure again with "
      "-DTACIT_TCP=ON and build");
}

}  // namespace tacit
