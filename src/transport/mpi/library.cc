// SPDX-License-Identifier: MIT
#include "transport/mpi/library.h"

#include <array>
#include <string_view>

#include "tacit/core/error.h"

namespace tacit {

namespace {

// SimGrid's library has MPI's names, for simulated programs, and ends any other that calls them.
void refuse_simulated_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  if (std::string_view(version.data()).find("SMPI") != std::string_view::npos)
    throw InvalidConfig(
        "the MPI in this program is SimGrid's, which runs simulated programs only; link the program with MPI "
        "before "
        "SimGrid");
}

}  // namespace

MpiLibrary::MpiLibrary() {
  refuse_simulated_mpi();
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
