// SPDX-License-Identifier: MIT
// tacit train: a run in a world of threads or processes.
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "cli/alike.h"
#include "cli/checkpoint_options.h"
#include "cli/commands.h"
#include "cli/log.h"
#include "cli/terminal.h"
#include "cli/training.h"
#include "cli/world_options.h"
#include "world/signals.h"

namespace tacit::cli {
namespace {

struct Settings {
  TrainSettings training;
  WorldSettings world;
};

int run(const Settings& s) {
  const std::optional<int> threads = check(s.world);
  check(s.training);
  check_names(s.training);
  make_writing_fail_without_signals();
  start_log();
  std::optional<DataPair> data;
  if (threads) {
    const Activity loading(s.training.quiet || s.training.json, "loading " + s.training.data + " ...");
    data = load_for(s.training, *threads);
  }
  std::optional<Activity> meeting(std::in_place, s.training.quiet || s.training.json, "the ranks meet ...");
  World world = open_world(s.world, s.training.quiet, survives(s.training), alike(s.training));
  meeting.reset();
  try {
    return train_in(world, s.training, std::move(data));
  } catch (...) {
    return complain(std::current_exception());  // before the world goes
  }
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* train = app.add_subcommand("train", "Train a model with several workers and report how it went");
  train->footer(
      "Strategies, models, data sets, optimisers and schedules are written name:key=value,key=value; `tacit "
      "list` "
      "names them.\nExample:\n  tacit train --strategy local:period=8 --workers 4 --model cnn --data "
      "fashion-mnist "
      "--epochs 2 --out out/local8");
  auto s = std::make_shared<Settings>();
  add_training_options(*train, s->training);
  add_checkpoint_options(*train, s->training);
  add_world_options(*train, s->world);
  train->callback([=, &action] {
    action = [=] {
      settle_checkpoint_options(*train, s->training);
      return run(*s);
    };
  });
}

}  // namespace tacit::cli
