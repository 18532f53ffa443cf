// SPDX-License-Identifier: MIT
// What came out of `tacit tune`, for a person, for programs and for `tacit compare`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/layout.h"
#include "cli/tuning.h"

namespace tacit::cli {

struct Tuning {
  std::string data;  // with what is held out of it
  std::vector<std::uint64_t> seeds;
  double margin = 0;
  std::vector<Choice> choices;
};

// A line for each strategy, what is to be said of it, and the whole grid.
std::string tuning_table(const Tuning& tuning, std::size_t columns = kAnyWidth);

// With the runs as compare.json has them.
nlohmann::ordered_json tuning_json(const Tuning& tuning, const Comparison& comparison);

// The experiment whose rates were chosen: `result` as it was asked for, but each run with its rate. Where every rate
// diverged it is the lowest, and the file says so: no run is left out. `cluster` is as the file shall name it.
std::string tuned_toml(const Experiment& result, const std::string& cluster, const Tuning& tuning);

}  // namespace tacit::cli
