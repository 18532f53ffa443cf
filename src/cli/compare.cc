// SPDX-License-Identifier: MIT
// tacit compare: several strategies on one simulated cluster, each in a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/experiment.h"
#include "cli/identifier.h"
#include "cli/places.h"
#include "cli/race.h"
#include "cli/terminal.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

struct Settings {
  SimulateSettings simulation;
  std::string strategies;
  fs::path experiment;
  std::string seeds;
  int jobs = 0;  // 0: as many as there are cores
  bool fresh = false;
};

Experiment experiment_of(const Settings& s, const Given& given) {
  if (!s.experiment.empty()) return read_experiment(s.experiment, s.simulation, given);
  if (s.simulation.cluster.empty())
    throw InvalidConfig("say --cluster FILE and --strategies, or --experiment FILE");
  Experiment e;
  e.title = "strategies";
  e.base = s.simulation;
  e.seeds = {s.simulation.training.train.seed};
  for (const std::string& strategy : split_strategies(s.strategies))
    e.contenders.push_back({strategy, strategy, s.simulation.training.train.compress});
  return e;
}

std::vector<Entrant> entrants_of(const Experiment& e) {
  std::vector<Entrant> all;
  Identifier identify;
  for (Trial& trial : trials_of(e)) {
    std::string name = e.contenders[trial.contender].name;
    if (e.workers.size() > 1) name += fmt::format(", {} workers", trial.workers);
    if (e.seeds.size() > 1) name += fmt::format(", seed {}", trial.seed);
    Identity identity = identify(trial.settings);
    all.push_back({std::move(trial), std::move(name), std::move(identity)});
  }
  return all;
}

Comparison comparison_of(const Experiment& e, const std::vector<Entrant>& entrants) {
  Comparison c{e.title, e.base.training.train.target, e.base.cost_only, {}};
  for (const Entrant& each : entrants) {
    const Trial& t = each.trial;
    const std::string& name = e.contenders[t.contender].name;
    if (c.rows.empty() || c.rows.back().name != name || c.rows.back().workers != t.workers)
      c.rows.push_back({name, t.workers, {}, {}});
    c.rows.back().outcomes.push_back(outcome_of(each));
  }
  c.set_speed_ups();
  return c;
}

// Of an earlier comparison in the same folder.
void pick_up(std::vector<Entrant>& entrants, const EarlierRuns& earlier, const fs::path& out, bool quiet) {
  for (Entrant& each : entrants) {
    each.earlier = earlier.find(each.identity, each.trial.seed, each.trial.settings.training.out);
    if (each.earlier) each.last_line = "picked up from an earlier comparison";
  }
  const auto found =
      std::count_if(entrants.begin(), entrants.end(), [](const Entrant& e) { return e.earlier.has_value(); });
  if (found > 0 && !quiet)
    fmt::print(stderr, "{} of {} runs are picked up from {}; --fresh repeats them\n", found, entrants.size(),
               out.string());
}

void refuse_to_lose(const EarlierRuns& earlier, const std::vector<Entrant>& entrants) {
  std::vector<Identity> kept;
  for (const Entrant& each : entrants) kept.push_back(each.identity);
  earlier.refuse_to_lose(kept);
}

int run(Settings s, const Given& given) {
  s.simulation.cluster = find_file(kClusters, s.simulation.cluster);
  s.experiment = find_file(kExperiments, s.experiment);
  TrainSettings& training = s.simulation.training;
  if (training.out.empty())
    training.out = s.experiment.empty() ? fs::path("out/compare") : "out" / s.experiment.stem();
  if (s.jobs < 0) throw InvalidConfig(fmt::format("--jobs {} is too few; give 1 or more", s.jobs));
  if (s.jobs == 0) s.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Experiment experiment = experiment_of(s, given);
  if (!s.seeds.empty()) experiment.seeds = split_seeds(s.seeds);
  const bool quiet = training.quiet || training.json;
  std::optional<Activity> reading(std::in_place, quiet, "reading data and cluster ...");
  std::vector<Entrant> entrants = entrants_of(experiment);
  reading.reset();

  const fs::path file = training.out / "compare.json";
  const EarlierRuns earlier(file);
  if (!s.fresh && !training.overwrite) refuse_to_lose(earlier, entrants);
  if (!s.fresh) pick_up(entrants, earlier, training.out, quiet);
  const auto write = [&] { comparison_of(experiment, entrants).write(file); };
  write();  // where that is refused nothing need be run
  const bool interrupted = interrupted_race(entrants, {s.jobs, training.quiet, write});

  const Comparison comparison = comparison_of(experiment, entrants);
  comparison.write(file);
  training.json ? comparison.print_json() : comparison.print();
  if (!interrupted) return comparison.good() ? 0 : 1;
  std::fflush(stdout);
  if (!comparison.complete())
    fmt::print(stderr, "The same command again picks up what is here and runs what is missing.\n");
  throw Interrupted("the comparison was interrupted");
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* compare =
      app.add_subcommand("compare", "Simulate several strategies on one cluster and say which is faster");
  compare->footer(
      "Each strategy runs in a process of its own; their run logs and compare.json land in --out "
      "(out/compare). The same command again picks up the runs that are there.\n"
      "Example:\n  tacit compare --cluster clusters/ethernet-1g.toml --strategies ssgd,local:period=8 "
      "--model mlp "
      "--epochs 2 --target 0.85\n  tacit compare --experiment experiments/slow-network.toml");
  auto s = std::make_shared<Settings>();
  add_simulation_options(*compare, s->simulation);
  compare->remove_option(compare->get_option("--strategy"));
  compare->get_option("--cluster")->required(false);
  auto* strategies =
      compare->add_option("--strategies", s->strategies, "What to compare: names with commas between them");
  auto* experiment = compare->add_option(
      "--experiment", s->experiment,
      "File that says what to compare, on which cluster and with which options, where none "
      "are given here; or the name of one that `tacit list experiments` has");
  strategies->needs("--cluster");
  experiment->excludes(strategies)->excludes("--cluster");
  compare->add_option("--seeds", s->seeds,
                      "Seeds with commas between them; the table has means and spreads then");
  compare->add_option("--jobs", s->jobs, "Runs at a time (0: one per core)");
  compare->add_flag("--fresh", s->fresh, "Repeat also the runs that --out holds already, and overwrite them");
  const Given given = [compare](const std::string& option) { return compare->count(option) > 0; };
  compare->callback([=, &action] { action = [=] { return run(*s, given); }; });
}

}  // namespace tacit::cli
