// SPDX-License-Identifier: MIT
// Runs the trials of an experiment, as many at a time as may be.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/comparison.h"
#include "cli/experiment.h"
#include "cli/launch/ending.h"
#include "cli/launch/lines.h"

namespace tacit::cli {

// One trial as it runs.
struct Entrant {
  Trial trial;
  std::string name;  // in front of its progress
  Identity identity;
  std::optional<Outcome> earlier{};  // it was run before, and is not run again
  LineCutter lines{LinePrefixer::kLongest};
  std::string last_line = "waits for a core";
  std::optional<std::chrono::steady_clock::time_point> started{};
  std::optional<double> expected_seconds{};  // of all of it, by how far it is
  std::optional<double> seconds{};           // that it took
  std::optional<Ending> how{};               // nothing: it has not ended, or was ended by an interrupt
};

// Outcome of a trial that has ended, or of one that is missing.
Outcome outcome_of(const Entrant& entrant);

struct RaceOptions {
  int jobs = 1;  // runs at a time
  bool quiet = false;
  std::function<void()> on_ended;  // called after every run
};

// Runs what has not been run, each in a process of its own, and shows a line of each. Whether Ctrl-C or SIGTERM ended
// it: then those that ran are ended too, and have no ending. Throws what on_ended throws, with all processes ended.
//
// Threads  the only one of the process.
bool interrupted_race(std::vector<Entrant>& entrants, const RaceOptions& options);

}  // namespace tacit::cli
