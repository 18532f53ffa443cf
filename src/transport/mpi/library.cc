// SPDX-License-Identifier: MIT
#include "transport/mpi/library.h"

#include "tacit/core/error.h"

namespace tacit {

MpiLibrary::MpiLibrary() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw InvalidConfig(
        "MPI has been finalised in this process and cannot begin again; open one world over MPI, and keep "
        "it");
  int initialized = 0;
  MPI_Initialized(&initialized);
  int provided = MPI_THREAD_SINGLE;
  if (initialized != 0) {
    MPI_Query_thread(&provided);
  } else {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    ours_ = true;
  }
  if (provided == MPI_THREAD_MULTIPLE) return;
  finalize();
  throw InvalidConfig(initialized != 0
                          ? "MPI was initialised without MPI_THREAD_MULTIPLE; call MPI_Init_thread with it, "
                            "or leave it to Tacit"
                          : "this MPI library gives no MPI_THREAD_MULTIPLE; use one that was built with it");
}

void MpiLibrary::finalize() const {
  if (ours_) MPI_Finalize();
}

int local_ranks(MPI_Comm comm) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int count = 0;
  MPI_Comm_size(here, &count);
  MPI_Comm_free(&here);
  return count;
}

}  // namespace tacit
