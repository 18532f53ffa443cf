// SPDX-License-Identifier: MIT
// Compiled where the MPI transport is built; without_mpi.cc elsewhere.
#include <utility>

#include "collectives/mpi/native_comm.h"
#include "transport/mpi/open_mpi.h"
#include "world/backend.h"

namespace tacit {

// NOLINTNEXTLINE(performance-unnecessary-value-param): one signature for all worlds
World World::mpi(WorldOptions options) {
  options.survive = false;  // mpirun ends all ranks with the first that fails
  WorldOptions own = options;
  own.native_collectives = false;
  MakeComm make_comm = own_collectives(own, "MPI");
  auto fabric = open_mpi({options.limits});
  agree_on_options(*fabric, options);
  if (options.native_collectives)
    make_comm = [lanes = make_native_lanes(), limits = options.limits](Endpoint& endpoint, Tasks& tasks,
                                                                       Tag::Lane lane) {
      return make_native_comm(lanes, endpoint, tasks, lane, limits);
    };
  return World(make_process_world(std::move(fabric), "mpi", std::move(make_comm)));
}

}  // namespace tacit
