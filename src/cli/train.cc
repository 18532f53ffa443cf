// SPDX-License-Identifier: MIT
// tacit train: a run in a world of threads or processes.
#include <exception>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/log.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/training.h"
#include "cli/world_options.h"

namespace tacit::cli {
namespace {

struct Settings {
  TrainSettings training;
  WorldSettings world;
};

int run(const Settings& s) {
  check(s.world);
  check(s.training);
  make_writing_fail_without_signals();
  start_log();
  std::optional<Activity> meeting(std::in_place, s.training.quiet || s.training.json, "the ranks meet ...");
  World world = open_world(s.world, s.training.quiet, survives(s.training));
  meeting.reset();
  try {
    return train_in(world, s.training);
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
  add_world_options(*train, s->world);
  train->callback([=, &action] { action = [=] { return run(*s); }; });
}

}  // namespace tacit::cli
