// SPDX-License-Identifier: MIT
// Compiled where the MPI transport is not built; with_mpi.cc elsewhere.
#include "tacit/core/error.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is that of with_mpi.cc
World World::mpi(WorldOptions) {
  throw InvalidConfig(
      "this build has no MPI transport; install libopenmpi-dev and openmpi-bin, configure again with "
      "-DTACIT_MPI=ON and build");
}

}  // namespace tacit
