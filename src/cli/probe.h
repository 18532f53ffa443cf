// SPDX-License-Identifier: MIT
// What a rank does for `tacit measure`: all ranks call these together, and all get the same answers.
#pragma once

#include <functional>
#include <vector>

#include "cli/measurement.h"
#include "tacit/world/world.h"

namespace tacit::cli {

// Seconds of `step` on each rank, while all of them do it, for about so long.
std::vector<std::vector<double>> time_steps(Process& me, const std::function<void()>& step, Seconds about);
// Bytes per second that a rank copies while all do; the mean over ranks.
double time_memory(Process& me);
// Each pair alone, one after the other; of many pairs, as many as there is time for.
std::vector<PairSpeed> time_pairs(Process& me, Seconds about);
// A message from everyone to everyone, in several sizes. Bytes are what one rank sends.
std::vector<LinkTiming> time_all_at_once(Process& me, Seconds about);

}  // namespace tacit::cli
