// SPDX-License-Identifier: MIT
// What tacit train and tacit simulate share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "tacit/train/dataset.h"
#include "tacit/train/trainer.h"
#include "tacit/world/world.h"

namespace tacit::cli {

struct TrainSettings {
  TrainOptions train;
  std::string model = "cnn";
  std::string data = "fashion-mnist";
  std::string init;                        // a model's file; empty: weights are drawn
  std::string checkpoint_every = "10min";  // as it was given
  std::filesystem::path out;
  bool overwrite = false;  // what another run left in it
  bool json = false;
  bool quiet = false;
};

// settings must outlive the app.
void add_training_options(CLI::App& app, TrainSettings& settings);

// Everything that can be refused before the ranks meet. Throws InvalidConfig.
void check(const TrainSettings& settings);

void check_counts(const TrainOptions& options);
// The same for the names of what is trained, and on what.
void check_names(const TrainSettings& settings);

// How unlike the samples of so many workers are, where each has its own. Throws InvalidConfig where they cannot be dealt
// out so.
std::optional<ShardSpread> spread_among(const TrainOptions& options, const Dataset& data, int workers);

// The data, for so many workers; refuses what does not fit to them. For worlds whose size is known before they are made:
// where ranks are processes, one that ends before they meet would keep the others waiting.
DataPair load_for(const TrainSettings& settings, int workers);

// Whether the strategy goes on without ranks that fail. Throws InvalidConfig where there is no such strategy.
bool survives(const TrainSettings& settings);

// Trains in an open world, from the data to the summary; returns the exit code and throws what ended the run.
// `data` may be loaded already.
int train_in(World& world, const TrainSettings& settings, std::optional<DataPair> data = std::nullopt);

// The same without data and arithmetic, for a model of so many parameters.
int cost_in(World& world, const TrainSettings& settings, std::size_t parameters);

}  // namespace tacit::cli
