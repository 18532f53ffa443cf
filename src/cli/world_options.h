// SPDX-License-Identifier: MIT
// The options of every command that opens a world.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tacit/world/world.h"

namespace tacit::cli {

struct WorldSettings {
  std::string world = "auto";
  std::optional<int> workers;
  double timeout = 1800;
  double stall = 30;
  std::optional<double> lost_after;  // 10
  std::string rendezvous;
  std::string key_file;
  bool insecure_plaintext = false;
  std::string collectives = "tacit";
};

// settings must outlive the app.
void add_world_options(CLI::App& app, WorldSettings& settings);

// Throws InvalidConfig for what no world can have, and for what the world that they and the environment choose cannot
// have. Returns the number of workers where these are threads of this process, which is known before they are made.
std::optional<int> check(const WorldSettings& settings);

// Opens the world; rank 0 says how the ranks were found, unless quiet. `survive` and what ranks must have alike are as in
// WorldOptions.
World open_world(const WorldSettings& settings, bool quiet, bool survive, std::vector<Setting> alike = {});

}  // namespace tacit::cli
