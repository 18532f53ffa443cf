// SPDX-License-Identifier: MIT
// What tacit compare runs: strategies, numbers of workers and seeds, each with each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/simulate.h"

namespace tacit::cli {

// One line of the table, for every number of workers.
struct Contender {
  std::string name;  // what the table calls it
  std::string strategy;
  std::string compress{};
  std::optional<double> lr{};
  std::string optimizer{};
  std::string shards{};
};

struct Experiment {
  std::string title;
  std::filesystem::path file{};  // empty: it was said on the command line
  SimulateSettings base;         // what all runs have in common
  std::vector<Contender> contenders;
  std::vector<int> workers;  // empty: the cluster's
  std::vector<std::uint64_t> seeds;
};

// "ssgd,local:period=8,wagma:group=4,period=2" is three: what is no strategy's name goes on with the one before it, if
// that has options.
std::vector<std::string> split_strategies(const std::string& text);
std::vector<std::uint64_t> split_seeds(const std::string& text);

// Whether the user gave an option such as "--epochs".
using Given = std::function<bool(const std::string& option)>;

// Reads an experiment file (docs/simulator.md) under the settings in `base`: what the user gave stays. Throws
// InvalidConfig.
Experiment read_experiment(const std::filesystem::path& file, const SimulateSettings& base,
                           const Given& given);

// What a command line asks for: a file, or strategies on the cluster that the settings name.
struct Asked {
  std::filesystem::path experiment;
  std::string strategies;
};

// With the seed of the settings where nothing else is said. Throws InvalidConfig.
Experiment experiment_of(const Asked& asked, const SimulateSettings& base, const Given& given);

// One simulation of an experiment.
struct Trial {
  std::size_t contender = 0;
  int workers = 0;
  std::uint64_t seed = 0;
  SimulateSettings settings;  // with a folder of its own
};

// All of them, in the order of the table, every one checked as far as it can be before it runs. Throws InvalidConfig.
std::vector<Trial> trials_of(const Experiment& experiment);

}  // namespace tacit::cli
