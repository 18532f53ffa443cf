// SPDX-License-Identifier: MIT
//   mpirun -n 4 mpi_test
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "conformance/transports.h"
#include "mpi/harness.h"
#include "transport/mpi/mpi_fabric.h"

namespace tacit::test {
namespace {

// Process 0 prints as usual; the others print what failed there.
class FailuresOnly final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::ostringstream line;
    line << "process " << process_rank() << ": " << result << "\n";
    std::cerr << line.str();
  }
};

void share_failures() {
  const int mine = ::testing::Test::HasFailure() ? 1 : 0;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any != 0 && mine == 0) ADD_FAILURE() << "another process failed";
}

int run_all(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (process_rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  return RUN_ALL_TESTS();
}

}  // namespace

int process_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void run_processes(int ranks, const WaitLimits& limits, const RankBody& body) {
  const int rank = process_rank();
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &part);
  if (part != MPI_COMM_NULL) {
    try {
      const auto fabric = open_mpi_on(part, {limits});
      run_and_leave({fabric->endpoint(),
                     [&](bool failed, const std::string& why) {
                       fabric->leave({failed, why});
                     },
                     [&] { fabric->interrupt(); }},
                    body);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "process " << rank << ": " << error.what();
    }
    MPI_Comm_free(&part);
  }
  share_failures();
}

std::vector<TransportCase> all_transports() { return {{"mpi", run_processes}}; }

}  // namespace tacit::test

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes < 4) {
    std::cerr << "start this with mpirun -n 4\n";
    MPI_Finalize();
    return 2;
  }
  const int code = tacit::test::run_all(argc, argv);
  MPI_Finalize();
  return code;
}
