// SPDX-License-Identifier: MIT
// The all-reduce algorithms beside each other, on threads: the measurement behind choose_all_reduce.
//
//   build/release/bench/collectives_bench [--ranks 2,4,8]
//
// Every algorithm takes its turn at every size in each of several rounds; the table gives the median in microseconds
// and marks the fastest and what kAuto takes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tacit/world/world.h"

namespace {

using tacit::AllReduce;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr double kSecondsPerTurn = 0.05;
constexpr std::size_t kSizes[] = {1U << 10U,   4U << 10U, 16U << 10U, 64U << 10U,
                                  256U << 10U, 1U << 20U, 16U << 20U};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double turn(int ranks, std::size_t bytes, AllReduce algorithm) {
  double result = 0;
  tacit::World::threads(ranks, {.limits = {}, .all_reduce = algorithm}).run([&](tacit::Process& me) {
    std::vector<float> x(bytes / sizeof(float));
    const auto trial = Clock::now();
    for (int i = 0; i < 4; ++i) me.comm().sum(x);
    int count = std::clamp(static_cast<int>(kSecondsPerTurn / (seconds_since(trial) / 4 + 1e-7)), 3, 20'000);
    me.comm().broadcast(std::as_writable_bytes(std::span(&count, 1)), 0);
    me.comm().barrier();
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) me.comm().sum(x);
    if (me.rank() == 0) result = seconds_since(start) / count;
  });
  return result;
}

void table(int ranks) {
  std::map<std::pair<std::size_t, AllReduce>, std::vector<double>> times;
  for (int round = 0; round < kRounds; ++round)
    for (const std::size_t bytes : kSizes)
      for (const auto& [which, name] : tacit::kAllReduceNames)
        if (which != AllReduce::kAuto) times[{bytes, which}].push_back(turn(ranks, bytes, which));
  for (const std::size_t bytes : kSizes) {
    std::printf("%5d %10zu", ranks, bytes);
    double best = 1e9;
    const char* winner = "";
    for (const auto& [which, name] : tacit::kAllReduceNames) {
      if (which == AllReduce::kAuto) continue;
      auto& t = times[{bytes, which}];
      std::sort(t.begin(), t.end());
      std::printf(" %20.1f", 1e6 * t[t.size() / 2]);
      if (t[t.size() / 2] < best) {
        best = t[t.size() / 2];
        winner = name.data();
      }
    }
    const AllReduce chosen = tacit::choose_all_reduce(ranks, bytes);
    for (const auto& [which, name] : tacit::kAllReduceNames)
      if (which == chosen) std::printf("  fastest %s, auto %s\n", winner, name.data());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> worlds{2, 4};
  if (argc == 3 && std::string(argv[1]) == "--ranks") {
    worlds.clear();
    std::istringstream list(argv[2]);
    for (std::string item; std::getline(list, item, ',');)
      worlds.push_back(std::max(1, std::atoi(item.c_str())));
  }
  std::printf("%5s %10s", "ranks", "bytes");
  for (const auto& [which, name] : tacit::kAllReduceNames)
    if (which != AllReduce::kAuto) std::printf(" %20s", name.data());
  std::printf("   [us], %u cores\n", std::thread::hardware_concurrency());
  for (const int ranks : worlds) table(ranks);
}
