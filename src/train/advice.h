// SPDX-License-Identifier: MIT
// One line on what might make such a run faster.
#pragma once

#include <string>

#include "tacit/runlog/events.h"
#include "tacit/strategy/registry.h"

namespace tacit {

// Whose words name what to change: `--compress fp16`, or `compress = "fp16"` for a loop of one's own.
enum class AdviceWords { kProgram, kLibrary };

// From what the ranks did with their time (Summary::ranks). Suggests only what the strategy takes. Empty where ranks
// compute most of the time, where there is but one, where nothing is known, and for a run of less than a second.
std::string advice(const Summary& summary, const StrategyRegistry& strategies, AdviceWords words);

}  // namespace tacit
