// SPDX-License-Identifier: MIT
// Collectives as MPI does them, beside Tacit's own for the rest.
#pragma once

#include <memory>

#include "tacit/collectives/all_reduce.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// One communicator per lane, so that collectives that run side by side cannot meet. Made by all processes of the world
// together; MPI frees them when it is finalised.
class NativeLanes;
std::shared_ptr<const NativeLanes> make_native_lanes();

// sum, mean, reduce_scatter, all_gather, broadcast and barrier by MPI; swaps, calls, posts and forks by messages over the
// endpoint, which is one of open_mpi's. The ledger does not see what MPI sends. Like make_endpoint_comm in all else.
//
// Bits    MPI decides the order of additions: equal on every rank, not equal to other worlds.
// Errors  as Comm, but ranks that disagree on a length are MPI's to notice. A rank that gives up a collective makes no
//         MPI call any more.
std::unique_ptr<Comm> make_native_comm(std::shared_ptr<const NativeLanes> lanes, Endpoint& endpoint,
                                       Tasks& tasks, Tag::Lane lane, const WaitLimits& limits);

}  // namespace tacit
