// SPDX-License-Identifier: MIT
// Faults by seed.
#pragma once

#include <cstdint>
#include <string>

#include "tacit/sim/cluster.h"

namespace tacit {

struct FaultDraw {
  std::uint64_t seed = 1;
  double rate = 0.1;    // faults per rank and minute
  Seconds span{600.0};  // none begins later

  // From `seed=7,rate=0.5,for=5min`; throws InvalidConfig.
  static FaultDraw parse(const std::string& text);
};

// Adds crashes, cuts, stops and late messages to a cluster: a function of its arguments alone. Some are over before
// `lost_after`, some are not, and some last to the end. At least one rank does not crash.
void draw_faults(const FaultDraw& draw, Seconds lost_after, Cluster& cluster);

bool has_faults(const Cluster& cluster);
// "rank 2 crashes at 3.1 s; ranks 0, 1 are cut off from rank 3 from 4 s to 9 s"; "none".
std::string describe_faults(const Cluster& cluster);

}  // namespace tacit
