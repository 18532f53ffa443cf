// SPDX-License-Identifier: MIT
// A run's account for a person.
#pragma once

#include <optional>
#include <string>

#include "tacit/runlog/events.h"

namespace tacit::cli {

// "rank 2 was lost at step 120: the connection was closed"
std::string describe(const RankLost& lost);

// "61 % of a worker's samples are of one class, on average; the smallest shard has 1,204 samples, the largest 13,310"
std::string describe(const ShardSpread& spread);

// With the time to the target accuracy, if one was wanted.
void print_table(const Summary& summary, std::optional<double> target);

}  // namespace tacit::cli
