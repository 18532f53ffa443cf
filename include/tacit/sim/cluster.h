// SPDX-License-Identifier: MIT
// A simulated cluster: how many workers, which network, how long they compute.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tacit/core/clock.h"
#include "tacit/sim/fault.h"

namespace tacit {

// One way of a full-duplex link.
struct LinkSpeed {
  double bandwidth = 1.25e9;  // bytes per second
  Seconds latency{50e-6};
};

// Workers behind one switch: a rack of a fat tree or a region of a wide-area network.
struct WorkerGroup {
  std::string name;
  int workers = 0;
  std::optional<LinkSpeed> uplink;  // to the other groups; nothing where there is one group alone
};

struct Straggler {
  std::vector<int> ranks;  // these at every step; empty: `count` others at each step, at random
  int count = 0;
  Seconds delay{0};   // added to the step
  double factor = 1;  // by which the step time is multiplied
};

struct Cluster {
  int workers = 1;
  LinkSpeed link;                   // between a worker and its switch
  std::vector<WorkerGroup> groups;  // in the order of ranks; empty: one switch for all
  std::filesystem::path platform;   // a SimGrid platform file in place of the two above

  Seconds step{0.1};    // what a gradient takes
  double jitter = 0;    // sigma of a log-normal factor whose mean is 1
  double memory = 9e9;  // bytes per second that a machine copies: the yardstick of compressors and servers
  std::vector<double> speed;   // by rank; empty: 1 for all
  std::vector<Seconds> trace;  // measured steps, in place of `step`
  std::vector<Straggler> stragglers;
  std::vector<Crash> crashes;
  std::vector<Cut> cuts;
  std::vector<Stop> stops;
  std::vector<LateRule> late;
};

// Reads a cluster file (docs/simulator.md), with another number of workers than it says, if one is given. Throws
// InvalidConfig that names the file, the key and what is wanted.
Cluster read_cluster(const std::filesystem::path& file, std::optional<int> workers = std::nullopt);

// Refuses what cannot be: a fault of a rank that does not exist, groups that do not add up. `name` begins the message.
void check(const Cluster& cluster, const std::string& name);

// How long a rank computes at a step, in whole nanoseconds: a function of its arguments alone.
Seconds compute_time(const Cluster& cluster, std::uint64_t seed, int rank, std::int64_t step);

}  // namespace tacit
