// SPDX-License-Identifier: MIT
// For native collectives, and for tests with fewer ranks than processes.
#pragma once

#include <mpi.h>

#include "transport/mpi/open_mpi.h"

namespace tacit {

// A fabric among the processes of `comm`, which it duplicates. A collective; MPI is initialised and stays so.
std::unique_ptr<Fabric> open_mpi_on(MPI_Comm comm, MpiOptions options);

// MPI holds memory that its owner is about to free, because a collective that cannot be cancelled will never end: this
// rank fails with that error, says so, and makes no MPI call any more. `endpoint` is one of open_mpi's.
void abandon_mpi(Endpoint& endpoint, const std::exception_ptr& error);

}  // namespace tacit
