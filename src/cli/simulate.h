// SPDX-License-Identifier: MIT
// What tacit simulate and tacit compare share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/training.h"
#include "tacit/sim/cluster.h"

namespace tacit::cli {

struct SimulateSettings {
  TrainSettings training;
  std::filesystem::path cluster;
  std::optional<int> workers;
  bool cost_only = false;
  std::optional<std::size_t> parameters;
  std::optional<double> step_time;
  std::string faults;
  double lost_after = 10;
};

// settings must outlive the app.
void add_simulation_options(CLI::App& app, SimulateSettings& settings);

// Everything that can be refused before the simulation starts; the cluster, with what the settings change in it.
Cluster check(const SimulateSettings& settings);

// The words that make `tacit simulate` do this, with no progress on a terminal.
std::vector<std::string> command_line(const SimulateSettings& settings);

}  // namespace tacit::cli
