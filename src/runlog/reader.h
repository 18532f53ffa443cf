// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "tacit/runlog/events.h"

namespace tacit {

struct RunRecord {
  RunStarted started;
  std::vector<StepsDone> steps;
  std::vector<Evaluated> evaluations;
  std::vector<RankTimes> times;
  std::vector<RankLost> lost;
  std::optional<Summary> ended;  // absent where the run died
};

// Reads a run log. A last line that was cut off is left out. Throws InvalidConfig that names file and line.
RunRecord read_run_log(const std::filesystem::path& file);

}  // namespace tacit
