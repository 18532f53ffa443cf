// SPDX-License-Identifier: MIT
// What must hold after a run on a cluster with faults, whatever they were.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tacit/sim/cluster.h"

namespace tacit {

// How a rank ended.
struct RankEnd {
  bool crashed = false;      // as the cluster says, or ended while it was stopped for good
  std::exception_ptr error;  // null: it finished, unless it crashed
  std::vector<int> lost{};   // those that it went on without
};

// What a run was told.
struct RunTerms {
  Seconds lost_after{10};
  bool survive = false;  // it goes on without ranks that are lost
};

// What was broken of these laws, a sentence each:
//   nobody waits past the limits, and nobody ends by an error but the loss of a rank;
//   whoever is named as lost crashed, or was silent for long enough: stopped, or on one side of a cut;
//   where losses are survived, a rank that nothing happened to finishes, unless too few such are left for a majority.
std::vector<std::string> violations(const Cluster& cluster, const RunTerms& terms,
                                    std::span<const RankEnd> ends);

// The law beside them: no two ranks finish with different weights. By rank, a hash of what it finished with.
std::vector<std::string> unequal_weights(std::span<const std::optional<std::uint64_t>> hashes);

// "finished: ranks 0, 1; lost: rank 2"
std::string describe_ends(std::span<const RankEnd> ends);

}  // namespace tacit
