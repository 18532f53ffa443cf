// SPDX-License-Identifier: MIT
#include "cli/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "cli/places.h"
#include "sim/toml_table.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

bool names_strategy(const std::string& piece) {
  const std::string name = canonical(piece.substr(0, piece.find(':')));
  const std::vector<std::string> known = builtin_strategies().names();
  return std::any_of(known.begin(), known.end(), [&](const auto& each) { return canonical(each) == name; });
}

std::string folder_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == ':' || c == '=' || c == ',' || c == '/' || c == ' '; }, '-');
  return name;
}

Contender read_contender(sim::Table& run) {
  Contender c;
  c.strategy = run.text("strategy", "");
  if (c.strategy.empty()) run.refuse("wants a strategy, such as strategy = \"local:period=8\"");
  c.compress = run.text("compress", "");
  c.shards = run.text("shards", "");
  const auto after = [](const std::string& text) { return text.empty() ? "" : " " + text; };
  c.name = run.text("name", c.strategy + after(c.compress) + after(c.shards));
  if (const double lr = run.number("lr", 0); lr != 0) c.lr = lr;
  c.optimizer = run.text("optimizer", "");
  run.finish();
  return c;
}

// A row that has another optimiser than the rest of its table says so.
void name_optimizer(Contender& c, const std::string& usual) {
  if (c.optimizer.empty() || c.optimizer == usual || c.name.find(c.optimizer) != std::string::npos) return;
  c.name += " " + c.optimizer;
}

// What the user gave as an option stays.
void read_training(sim::Table& file, const Given& given, TrainSettings& s) {
  const auto text = [&](const char* key, bool stays, std::string& value) {
    std::string said = file.text(key, value);
    if (!stays) value = std::move(said);
  };
  const auto integer = [&](const char* key, bool stays, std::int64_t& value) {
    const int said = file.integer(key, static_cast<int>(value));
    if (!stays) value = said;
  };
  const bool how_long = given("--epochs") || given("--steps");
  text("model", given("--model"), s.model);
  text("data", given("--data"), s.data);
  text("shards", given("--shards"), s.train.shards);
  integer("epochs", how_long, s.train.epochs);
  integer("steps", how_long, s.train.steps);
  integer("batch", given("--batch"), s.train.batch);
  if (const double lr = file.number("lr", s.train.lr); !given("--lr")) s.train.lr = lr;
  text("schedule", given("--schedule"), s.train.schedule);
  text("optimizer", given("--optimizer"), s.train.optimizer);
  integer("evaluate_every", given("--evaluate-every"), s.train.evaluate_every);
}

// A path from the experiment's own folder, or a name.
fs::path cluster_of(const fs::path& experiment, const std::string& cluster) {
  if (cluster.empty())
    throw InvalidConfig(experiment.string() + " wants a cluster; write cluster = \"demo-8\" or a path");
  const fs::path beside = experiment.parent_path() / cluster;
  std::error_code ignored;
  const bool is_path =
      beside.extension() == ".toml" || fs::path(cluster).has_parent_path() || fs::exists(beside, ignored);
  return is_path ? beside : find_file(kClusters, cluster);
}

SimulateSettings settings_of(const Experiment& e, const Contender& c, int workers, std::uint64_t seed) {
  SimulateSettings s = e.base;
  TrainOptions& train = s.training.train;
  train.strategy = c.strategy;
  train.compress = c.compress;
  if (c.lr) train.lr = *c.lr;
  if (!c.optimizer.empty()) train.optimizer = c.optimizer;
  if (!c.shards.empty()) train.shards = c.shards;
  train.seed = seed;
  if (s.cost_only) train.target.reset();
  s.training.out /= folder_name(c.name);
  if (!e.workers.empty()) s.workers = workers;
  if (e.workers.size() > 1) s.training.out /= fmt::format("workers-{}", workers);
  if (e.seeds.size() > 1) s.training.out /= fmt::format("seed-{}", seed);
  return s;
}

// One simulation, checked. What is refused names the file and the run that it comes from.
Trial trial_of(const Experiment& e, std::size_t contender, int workers, std::uint64_t seed) {
  const Contender& c = e.contenders[contender];
  Trial trial{contender, workers, seed, settings_of(e, c, workers, seed)};
  try {
    trial.workers = check(trial.settings).workers;
    check_compression(trial.settings.training.train, builtin_strategies(), trial.workers);
  } catch (const InvalidConfig& error) {
    if (e.file.empty()) throw;
    throw InvalidConfig(
        fmt::format("{}: run {} ({}): {}", e.file.string(), contender + 1, c.name, error.what()));
  }
  return trial;
}

}  // namespace

std::vector<std::string> split_strategies(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    const bool may_go_on = !all.empty() && all.back().find(':') != std::string::npos;
    if (may_go_on && !names_strategy(piece)) {
      all.back() += "," + piece;
    } else if (!all.empty() && piece.find_first_of("=:") < piece.find(':')) {
      throw InvalidConfig(
          fmt::format("--strategies: '{}' is no strategy; options follow a colon: write {}:{}", piece,
                      all.back(), piece));
    } else {
      all.push_back(piece);
    }
  }
  if (all.empty()) throw InvalidConfig("--strategies is empty; name some, such as ssgd,local:period=8");
  return all;
}

std::vector<std::uint64_t> split_seeds(const std::string& text) {
  std::vector<std::uint64_t> all;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), seed);
    if (error != std::errc{} || end != piece.data() + piece.size() ||
        std::find(all.begin(), all.end(), seed) != all.end())
      throw InvalidConfig("--seeds " + text +
                          " is not understood; give different whole numbers, such as 1,2,3");
    all.push_back(seed);
  }
  return all;
}

Experiment read_experiment(const fs::path& file, const SimulateSettings& base, const Given& given) {
  const toml::value root = sim::parse_toml(file, "experiment", "experiments/slow-network.toml");
  sim::Table table(root, file.string() + ": ");
  Experiment e;
  e.base = base;
  e.file = file;
  e.title = table.text("title", file.stem().string());
  e.base.cluster = cluster_of(file, table.text("cluster", ""));
  e.workers = table.integers("workers");
  if (base.workers) e.workers.clear();
  read_training(table, given, e.base.training);
  for (const int seed : table.integers("seeds")) e.seeds.push_back(static_cast<std::uint64_t>(seed));
  if (e.seeds.empty()) e.seeds = {base.training.train.seed};
  if (const double target = table.number("target", 0); target != 0 && !given("--target"))
    e.base.training.train.target = target;
  for (sim::Table& run : table.tables("run")) {
    e.contenders.push_back(read_contender(run));
    name_optimizer(e.contenders.back(), e.base.training.train.optimizer);
  }
  if (e.contenders.empty())
    table.refuse_value("run", "one table or more, written [[run]], each with a strategy");
  table.finish();
  return e;
}

Experiment experiment_of(const Asked& asked, const SimulateSettings& base, const Given& given) {
  if (!asked.experiment.empty()) return read_experiment(asked.experiment, base, given);
  if (base.cluster.empty()) throw InvalidConfig("say --cluster FILE and --strategies, or --experiment FILE");
  Experiment e;
  e.title = "strategies";
  e.base = base;
  e.seeds = {base.training.train.seed};
  for (const std::string& strategy : split_strategies(asked.strategies))
    e.contenders.push_back({strategy, strategy, base.training.train.compress});
  return e;
}

std::vector<Trial> trials_of(const Experiment& e) {
  std::vector<Trial> all;
  for (const int workers : e.workers.empty() ? std::vector<int>{0} : e.workers)
    for (std::size_t i = 0; i < e.contenders.size(); ++i)
      for (const std::uint64_t seed : e.seeds) {
        Trial trial = trial_of(e, i, workers, seed);
        for (const Trial& other : all)
          if (other.settings.training.out == trial.settings.training.out)
            throw InvalidConfig("two runs are called " + e.contenders[i].name +
                                "; give each a name of its own");
        all.push_back(std::move(trial));
      }
  return all;
}

}  // namespace tacit::cli
