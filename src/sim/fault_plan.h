// SPDX-License-Identifier: MIT
// A cluster's faults, asked by time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tacit/sim/cluster.h"

namespace tacit::sim {

class FaultPlan {
 public:
  // The cluster must outlive it. `seed` is that of late messages.
  FaultPlan(const Cluster& cluster, std::uint64_t seed) : cluster_(cluster), seed_(seed) {}

  // Whether ranks may come to know different things of each other.
  bool divides() const { return !cluster_.cuts.empty() || !cluster_.stops.empty(); }

  bool stopped(int rank, Seconds now) const { return continued(rank, now) > now; }
  bool cut(int from, int to, Seconds now) const { return healed(from, to, now) > now; }
  // From now on, the first time at which the rank is not stopped; at which nothing holds back what it sends to the
  // other; and at which that reads it.
  Deadline continued(int rank, Seconds now) const;
  Deadline healed(int from, int to, Seconds now) const;
  Deadline readable(int from, int to, Seconds now) const;

  // How much later than the network says the next message arrives, or the next word about a loss; a draw for each.
  enum class Kind { kMessage, kWord };
  Seconds delay(int from, int to, Seconds now, Kind kind);

 private:
  const Cluster& cluster_;
  const std::uint64_t seed_;
  std::unordered_map<std::uint64_t, std::int64_t> draws_;  // by pair, so far
};

}  // namespace tacit::sim
