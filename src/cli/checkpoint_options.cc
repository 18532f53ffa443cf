// SPDX-License-Identifier: MIT
#include "cli/checkpoint_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/store.h"
#include "cli/alike.h"
#include "tacit/core/error.h"
#include "train/find_checkpoint.h"

namespace tacit::cli {
namespace {

constexpr int kMostKept = 64;
constexpr const char* kAuto = "auto";
// A run may go on for longer than it was meant to.
constexpr std::array<const char*, 2> kLength{"--epochs", "--steps"};
// What decides on which weights a run ends with, beside its length.
constexpr std::array<const char*, 11> kDecisive{"--strategy", "--compress",  "--bucket", "--model",
                                                "--data",     "--shards",    "--batch",  "--lr",
                                                "--schedule", "--optimizer", "--seed"};

template <class Names>
bool has(const Names& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
}

template <class Names>
CheckpointSettings chosen(const TrainSettings& s, const Names& names) {
  CheckpointSettings some;
  for (const Setting& each : alike(s))
    if (has(names, each.name)) some.emplace_back(each.name, each.value);
  return some;
}

// "100" or "10min".
void parse_every(const std::string& text, CheckpointOptions& o) {
  const char* end = text.data() + text.size();
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string unit(rest, end);
  const bool counts = error == std::errc{} && std::isfinite(number) && number > 0;
  if (counts && unit.empty() && number == std::floor(number) && number <= static_cast<double>(kMostSteps)) {
    o.every = static_cast<std::int64_t>(number);
    return;
  }
  for (const auto& [name, minutes] : {std::pair{"s", 1.0 / 60}, std::pair{"min", 1.0}, std::pair{"h", 60.0}})
    if (counts && unit == name) {
      o.minutes = number * minutes;
      return;
    }
  throw InvalidConfig(fmt::format(
      "--checkpoint-every {} is neither steps nor a time; give a number of steps, such as 1000, or 10min",
      text));
}

void give(CLI::App& app, const std::string& name, const std::string& value) {
  CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->count() > 0 || value.empty()) return;
  option->clear();
  option->add_result(value);
  option->run_callback();
}

void adopt(CLI::App& app, TrainSettings& s) {
  const Manifest then = newest_checkpoint(s.train.checkpoint.resume).manifest;
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  const bool length = given("--epochs") || given("--steps");
  for (const auto& [name, value] : then.settings)
    if (!has(kLength, name) || !length) give(app, name, value);
  const std::vector<std::string> other = differences(then.settings, chosen(s, kDecisive));
  if (!other.empty())
    throw InvalidConfig(fmt::format(
        "--resume {}: {}; leave out what the checkpoint knows, or begin a new run from its model with --init",
        s.train.checkpoint.resume, fmt::join(other, ", ")));
}

}  // namespace

void add_checkpoint_options(CLI::App& app, TrainSettings& s) {
  CheckpointOptions& o = s.train.checkpoint;
  app.add_option("--checkpoint", o.folder, "Folder for checkpoints, from which --resume goes on");
  app.add_option("--checkpoint-every", s.checkpoint_every,
                 "Steps between checkpoints, or a time, such as 10min");
  app.add_option("--keep", o.keep, "Checkpoints that are kept, the newest");
  app.add_option(
      "--resume", o.resume,
      "Go on from the newest checkpoint in this folder, or from the one that it is; auto: from that of "
      "--checkpoint where there is one");
  app.add_option("--init", s.init, "Begin with the weights of this model.safetensors");
}

void settle_checkpoint_options(CLI::App& app, TrainSettings& s) {
  CheckpointOptions& o = s.train.checkpoint;
  for (const char* name : {"--checkpoint-every", "--keep"})
    if (o.folder.empty() && app.get_option(name)->count() > 0)
      throw InvalidConfig(fmt::format("{} without --checkpoint: give the folder for checkpoints too", name));
  if (o.keep < 1 || o.keep > kMostKept)
    throw InvalidConfig(fmt::format("--keep {} keeps no checkpoint; give 1 to {}", o.keep, kMostKept));
  if (!o.folder.empty()) parse_every(s.checkpoint_every, o);
  if (o.resume == kAuto) {
    if (o.folder.empty())
      throw InvalidConfig("--resume auto without --checkpoint: give the folder for checkpoints");
    o.resume = CheckpointStore(o.folder).steps().empty() ? "" : o.folder;
  }
  if (!o.resume.empty() && !s.init.empty())
    throw InvalidConfig("--init with --resume: a checkpoint has its weights; leave one of the two out");
  if (!o.resume.empty()) adopt(app, s);
  o.settings = chosen(s, kDecisive);
  for (auto& each : chosen(s, kLength)) o.settings.push_back(std::move(each));
}

void clear_checkpoints(const TrainSettings& s) {
  const CheckpointOptions& o = s.train.checkpoint;
  if (o.folder.empty()) return;
  const CheckpointStore store(o.folder);
  store.make();
  if (!o.resume.empty()) return;
  const std::vector<std::int64_t> steps = store.steps();
  if (steps.empty()) return;
  if (s.overwrite) return store.keep(0);
  throw InvalidConfig(fmt::format(
      "{} has the checkpoints of another run, the newest after step {}; give --resume {} to go on with it, "
      "--overwrite to begin anew, or --checkpoint another folder",
      o.folder, steps.front(), o.folder));
}

}  // namespace tacit::cli
