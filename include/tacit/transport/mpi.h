// SPDX-License-Identifier: MIT
// Ranks as processes that mpirun or srun started, over MPI.
#pragma once

#include <memory>

#include "tacit/transport/fabric.h"

namespace tacit {

struct MpiOptions {
  WaitLimits limits;
};

// Initialises MPI with MPI_THREAD_MULTIPLE where that has not been done, and finalises it when dropped in that case.
// Throws InvalidConfig where the library gives less.
std::unique_ptr<Fabric> open_mpi(MpiOptions options);

}  // namespace tacit
