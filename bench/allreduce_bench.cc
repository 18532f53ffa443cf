// SPDX-License-Identifier: MIT
// All-reduce of P threads with Tacit beside all-reduce of P processes with MPI, in one run:
//
//   mpirun -n 4 --bind-to none --oversubscribe build/release/bench/allreduce_bench [bytes...]
//
// For every size the two take turns, so that both meet the same minute of a shared machine; the table gives
// each one's median and the ratio. While Tacit's threads run in rank 0's process the other processes sleep.
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "tacit/world/world.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int kTurns = 7;
constexpr double kSecondsPerTurn = 0.15;

int repeats(double seconds_each) {
  return std::clamp(static_cast<int>(kSecondsPerTurn / std::max(seconds_each, 1e-7)), 3, 50'000);
}

// Seconds per all-reduce, over a count of them that all ranks agree on. `once` sums, `agree` broadcasts an
// int.
template <class Once, class Agree>
double measure(const Once& once, const Agree& agree) {
  for (int i = 0; i < 3; ++i) once();
  const auto trial = Clock::now();
  for (int i = 0; i < 5; ++i) once();
  int count = repeats(seconds_since(trial) / 5);
  agree(count);
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) once();
  return seconds_since(start) / count;
}

double mpi_turn(std::vector<float>& x) {
  MPI_Barrier(MPI_COMM_WORLD);
  return measure(
      [&] {
        MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(x.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      },
      [](int& count) { MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD); });
}

double tacit_turn(int ranks, std::size_t count, tacit::AllReduce algorithm) {
  double result = 0;
  tacit::World world = tacit::World::threads(ranks, {.limits = {}, .all_reduce = algorithm});
  world.run([&](tacit::Process& me) {
    std::vector<float> x(count, 0.0F);
    me.comm().barrier();
    const double mine =
        measure([&] { me.comm().sum(x); },
                [&](int& n) { me.comm().broadcast(std::as_writable_bytes(std::span(&n, 1)), 0); });
    if (me.rank() == 0) result = mine;
  });
  return result;
}

// Waits for rank 0 without using its cores.
void sleep_until_all_are_here() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::size_t> sizes_from(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    std::size_t bytes = 0;
    const char* end = argv[i] + std::strlen(argv[i]);
    if (std::from_chars(argv[i], end, bytes).ptr == end && bytes >= sizeof(float)) sizes.push_back(bytes);
  }
  if (sizes.empty()) sizes = {4096, 65536, 1U << 20U, 4U << 20U, 16U << 20U, 64U << 20U};
  return sizes;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tacit::AllReduce algorithm = tacit::AllReduce::kAuto;
  for (int i = 1; i < argc; ++i)
    for (const auto& [which, name] : tacit::kAllReduceNames)
      if (name == argv[i]) algorithm = which;
  if (rank == 0) std::printf("%5s %12s %14s %14s %8s\n", "ranks", "bytes", "mpi [us]", "tacit [us]", "ratio");
  for (const std::size_t bytes : sizes_from(argc, argv)) {
    std::vector<double> theirs;
    std::vector<double> ours;
    std::vector<float> x(bytes / sizeof(float), 0.0F);
    for (int turn = 0; turn < kTurns; ++turn) {
      theirs.push_back(mpi_turn(x));
      if (rank == 0) ours.push_back(tacit_turn(ranks, x.size(), algorithm));
      sleep_until_all_are_here();
    }
    if (rank == 0)
      std::printf("%5d %12zu %14.2f %14.2f %7.2fx\n", ranks, bytes, median(theirs) * 1e6, median(ours) * 1e6,
                  median(theirs) / median(ours));
    std::fflush(stdout);
  }
  MPI_Finalize();
}
