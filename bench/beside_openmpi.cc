// SPDX-License-Identifier: MIT
// The contestant "openmpi" of `tacit bench`: all-reduce of the processes that mpirun started, with MPI_Allreduce. The
// lines it reads and writes are those of src/cli/turn.h.
//
//   mpirun -n N tacit_beside_openmpi
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cli/turn.h"

namespace {

double take_turn(std::size_t bytes) {
  std::vector<float> x(bytes / sizeof(float), 0.0F);
  if (x.size() > std::numeric_limits<int>::max()) throw std::length_error("MPI_Allreduce counts with an int");
  const auto sum = [&] {
    MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(x.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  return tacit::cli::measure(sum, [](int& count) { MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD); });
}

// Every rank's part between turns. Rank 0 waits for a line, the others for rank 0; they would use their cores in a
// blocking MPI call. 0 bytes: the end.
std::uint64_t wait_for_turn(int rank) {
  std::uint64_t bytes = 0;
  if (rank == 0) {
    if (const auto turn = tacit::cli::next_turn()) {
      if (turn->kind != "allreduce")
        throw std::invalid_argument("the turn is allreduce and not '" + turn->kind + "'");
      bytes = turn->bytes;
    }
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return bytes;
}

void run(int rank) {
  while (const std::uint64_t bytes = wait_for_turn(rank)) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = take_turn(bytes);
    if (rank == 0) tacit::cli::answer(seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    run(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tacit_beside_openmpi: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
