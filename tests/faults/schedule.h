// SPDX-License-Identifier: MIT
// Small worlds in virtual time whose ranks, strategy and faults are drawn by a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tacit/sim/cluster.h"

namespace tacit::test {

struct FaultCase {
  std::uint64_t seed = 1;
  std::string strategy;
  bool survives = false;
  Cluster cluster;
  std::size_t parameters = 0;
};

inline constexpr Seconds kLostAfter{1};

FaultCase draw_schedule(std::uint64_t seed);
// The same faults, for strategies that go on without the ranks that keep their servers' shards.
FaultCase draw_server_schedule(std::uint64_t seed);
// What ranks tell each other of losses takes up to six heartbeats, so that they learn of one thing at different times.
void slow_down_words(std::uint64_t seed, FaultCase& schedule);
std::string describe(const FaultCase& schedule);

struct ScheduleOutcome {
  std::vector<std::string> violations;
  std::string trace_hash;
  int finished = 0;  // ranks
};

// Once per process, because SimGrid has one engine.
ScheduleOutcome run_schedule(const FaultCase& schedule);
// In a child of this process, which may take so many seconds.
ScheduleOutcome run_in_child(const FaultCase& schedule, unsigned limit = 60);

}  // namespace tacit::test
