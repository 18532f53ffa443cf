// SPDX-License-Identifier: MIT
// From an experiment to a race, and from the race to a comparison.
#pragma once

#include <vector>

#include "cli/comparison.h"
#include "cli/experiment.h"
#include "cli/identifier.h"
#include "cli/race.h"

namespace tacit::cli {

// All trials of the experiment, none of them run. Reads the data set and the cluster file. Throws InvalidConfig.
std::vector<Entrant> entrants_of(const Experiment& experiment, Identifier& identify);

std::vector<Identity> identities_of(const std::vector<Entrant>& entrants);

// Takes over what an earlier comparison in the same folder has of those that have no outcome yet; how many it has.
std::size_t pick_up(std::vector<Entrant>& entrants, const EarlierRuns& earlier);
// "3 of 8 runs are picked up from out/compare; --fresh repeats them", where there are some and the folder has a name.
void say_picked_up(std::size_t count, const std::vector<Entrant>& entrants, const std::filesystem::path& out);

Comparison comparison_of(const Experiment& experiment, const std::vector<Entrant>& entrants);

// Runs at a time, by --jobs: as many as there are cores where it is 0. Throws InvalidConfig.
int jobs_from(int said);

}  // namespace tacit::cli
