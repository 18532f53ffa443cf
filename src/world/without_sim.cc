// SPDX-License-Identifier: MIT
// Compiled where the simulator is not built; src/sim/world.cc elsewhere.
#include "tacit/core/error.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is that of src/sim/world.cc
World World::simulated(const Cluster&, std::uint64_t, WorldOptions) {
  throw InvalidConfig(
      "this build has no simulator; install libsimgrid-dev and libtoml11-dev, configure again with "
      "-DTACIT_SIM=ON and build");
}

}  // namespace tacit
