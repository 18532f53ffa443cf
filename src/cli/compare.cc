// SPDX-License-Identifier: MIT
// tacit compare: several strategies on one simulated cluster, each in a process of its own.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/entrants.h"
#include "cli/places.h"
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

int run(Settings s, const Given& given) {
  s.simulation.cluster = find_file(kClusters, s.simulation.cluster);
  s.experiment = find_file(kExperiments, s.experiment);
  TrainSettings& training = s.simulation.training;
  if (training.out.empty())
    training.out = s.experiment.empty() ? fs::path("out/compare") : "out" / s.experiment.stem();
  s.jobs = jobs_from(s.jobs);
  Experiment experiment = experiment_of({s.experiment, s.strategies}, s.simulation, given);
  if (!s.seeds.empty()) experiment.seeds = split_seeds(s.seeds);
  const bool quiet = training.quiet || training.json;
  std::optional<Activity> reading(std::in_place, quiet, "reading data and cluster ...");
  Identifier identify;
  std::vector<Entrant> entrants = entrants_of(experiment, identify);
  reading.reset();

  const fs::path file = training.out / "compare.json";
  const EarlierRuns earlier(file);
  if (!s.fresh && !training.overwrite) earlier.refuse_to_lose(identities_of(entrants));
  if (!s.fresh) say_picked_up(pick_up(entrants, earlier), entrants, quiet ? fs::path() : training.out);
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
                      "Seeds with commas between them; the table has means, deviations and intervals then");
  compare->add_option("--jobs", s->jobs, "Runs at a time (0: one per core)");
  compare->add_flag("--fresh", s->fresh, "Repeat also the runs that --out holds already, and overwrite them");
  const Given given = [compare](const std::string& option) { return compare->count(option) > 0; };
  compare->callback([=, &action] { action = [=] { return run(*s, given); }; });
}

}  // namespace tacit::cli
