// SPDX-License-Identifier: MIT
// The life of the MPI library in this process.
#pragma once

#include <mpi.h>

namespace tacit {

// Initialises MPI where that has not been done, for calls from any thread. Throws InvalidConfig where MPI cannot have
// that, or has been finalised already.
class MpiLibrary {
 public:
  MpiLibrary();

  // Finalises MPI, if this object initialised it. Collective: call it only when all processes will. A process may end
  // without it; mpirun then ends the others.
  void finalize() const;

 private:
  bool ours_ = false;
};

// Ranks of this communicator on this machine. A collective.
int local_ranks(MPI_Comm comm);

}  // namespace tacit
