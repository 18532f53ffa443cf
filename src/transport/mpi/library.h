// SPDX-License-Identifier: MIT
// The life of the MPI library in this process.
#pragma once

#include <mpi.h>

namespace tacit {

// Initialises MPI where that has not been done, for calls from any thread. Throws InvalidConfig where MPI cannot have that,
// or has been finalised already.
class MpiLibrary {
 public:
  MpiLibrary();

  // Where this object initialised MPI. A collective of all processes: whoever calls it must know that all will. A process
  // that does not call it may still end; mpirun then ends the others.
  void finalize() const;

 private:
  bool ours_ = false;
};

// Ranks of this communicator on this machine. A collective.
int local_ranks(MPI_Comm comm);

}  // namespace tacit
