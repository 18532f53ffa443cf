// SPDX-License-Identifier: MIT
// Ranks as processes that mpirun or srun started, over MPI.
#pragma once

#include <memory>

#include "transport/fabric.h"

namespace tacit {

struct MpiOptions {
  WaitLimits limits;
};

// Meets the other processes. Initialises MPI with MPI_THREAD_MULTIPLE where that has not been done; dropping the fabric
// waits for the others and, in that case, finalises MPI, unless a rank has failed. Throws InvalidConfig where the
// library gives less than MPI_THREAD_MULTIPLE or has been finalised.
std::unique_ptr<Fabric> open_mpi(MpiOptions options);

}  // namespace tacit
