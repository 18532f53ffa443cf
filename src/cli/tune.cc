// SPDX-License-Identifier: MIT
// tacit tune: a grid of learning rates for each strategy, on data held out from training.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/comparison_json.h"
#include "cli/entrants.h"
#include "cli/held_out.h"
#include "cli/places.h"
#include "cli/terminal.h"
#include "cli/tuning_report.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReading = "reading data and cluster ...";
constexpr std::size_t kResultSeeds = 8;  // the fewest that show a difference of less than a point

struct TuneSettings {
  SimulateSettings simulation;
  std::string strategies;
  fs::path experiment;
  std::string cluster;  // as it was written
  std::string rates;
  std::string seeds = "101,102";
  std::optional<std::int64_t> holdout;
  int extend = 4;
  double margin = 0.05;
  int jobs = 0;  // 0: as many as there are cores
  bool fresh = false;
};

// Those of the result are not looked at before it: what was chosen by them would fit them better than others.
void refuse_seeds_of_the_result(const std::vector<std::uint64_t>& seeds, const Experiment& result) {
  std::vector<std::uint64_t> both;
  for (const std::uint64_t each : seeds)
    if (std::find(result.seeds.begin(), result.seeds.end(), each) != result.seeds.end()) both.push_back(each);
  if (both.empty()) return;
  throw InvalidConfig(
      fmt::format("--seeds {} has {}, with which {} makes its result; choose by other seeds, such as 101,102",
                  fmt::join(seeds, ","), fmt::join(both, ", "), result.file.string()));
}

// 1 to 8, without those that the choice is made by.
std::vector<std::uint64_t> seeds_of_the_result(const std::vector<std::uint64_t>& tried) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seeds.size() < kResultSeeds; ++seed)
    if (std::find(tried.begin(), tried.end(), seed) == tried.end()) seeds.push_back(seed);
  return seeds;
}

// The experiment that the rates are for.
Experiment result_of(const TuneSettings& s, const std::vector<std::uint64_t>& seeds, const Given& given) {
  Experiment result = experiment_of({s.experiment, s.strategies}, s.simulation, given);
  if (result.workers.size() > 1)
    throw InvalidConfig(
        fmt::format("{} has {} numbers of workers, and a rate that is good for one need not be for "
                    "another; say --workers {}, and tune for each",
                    result.file.string(), result.workers.size(), result.workers[0]));
  if (result.workers.size() == 1) result.base.workers = result.workers[0];
  result.workers.clear();
  if (result.file.empty()) {
    result.seeds = seeds_of_the_result(seeds);
    result.title = "Strategies, each with its own learning rate";
  }
  refuse_seeds_of_the_result(seeds, result);
  return result;
}

std::vector<Candidate> candidates_of(const TuneSettings& s, const Experiment& result) {
  const std::vector<double> all = s.rates.empty() ? std::vector<double>{} : split_rates(s.rates);
  std::vector<Candidate> candidates;
  for (const Contender& c : result.contenders)
    candidates.push_back({c, all.empty() ? rates_around(c.lr.value_or(result.base.training.train.lr)) : all});
  return candidates;
}

// Names stay names; a path is made one that holds from the folder of the file.
std::string cluster_from(const fs::path& out, const TuneSettings& s, const Experiment& result) {
  const bool is_name = !s.cluster.empty() && fs::path(s.cluster) != s.simulation.cluster;
  return is_name ? s.cluster : fs::relative(result.base.cluster, out).string();
}

// What an experiment file has no keys for.
std::string words_beside(const SimulateSettings& s) {
  const SimulateSettings usual;
  std::string words;
  if (s.step_time) words += fmt::format(" --step-time {}", *s.step_time);
  if (!s.faults.empty()) words += " --faults " + s.faults;
  if (s.lost_after != usual.lost_after) words += fmt::format(" --lost-after {}", s.lost_after);
  if (s.training.train.bucket != usual.training.train.bucket) words += " --bucket " + s.training.train.bucket;
  return words;
}

// The grid, run round by round: a round that ends with the best at an end of its grid is followed by a longer one.
class Tuner {
 public:
  Tuner(const TuneSettings& s, Experiment held, std::vector<Candidate> candidates)
      : s_(s),
        quiet_(s.simulation.training.quiet || s.simulation.training.json),
        file_(held.base.training.out / "tune.json"),
        earlier_(file_),
        held_(std::move(held)),
        candidates_(std::move(candidates)) {}

  // Whether it was interrupted.
  bool run() {
    if (!s_.fresh && !s_.simulation.training.overwrite) earlier_.refuse_to_lose(all_there_may_be());
    for (;;) {
      enter();
      if (!all_over()) {
        write();  // where that is refused nothing need be run
        if (interrupted_race(entrants_, {s_.jobs, quiet_, [this] { write(); }})) return true;
      }
      if (!extend(candidates_, tuning().choices, s_.extend)) return false;
    }
  }

  Comparison comparison() const { return comparison_of(grid_, entrants_); }
  Tuning tuning() const {
    return {held_.base.training.data, held_.seeds, s_.margin,
            choices_of(candidates_, comparison(), s_.margin)};
  }
  void write() const { write_account(file_, tuning_json(tuning(), comparison())); }

 private:
  // Longer grids than this one's too: a run of them that is there is not lost.
  std::vector<Identity> all_there_may_be() {
    const Activity reading(quiet_, kReading);
    return identities_of(entrants_of(grid_of(held_, farthest(candidates_, s_.extend)), identify_));
  }
  bool all_over() const {
    return std::all_of(entrants_.begin(), entrants_.end(),
                       [](const Entrant& e) { return e.earlier.has_value(); });
  }
  // The entrants of the grid as it is now; those of the last round keep what came out.
  void enter() {
    grid_ = grid_of(held_, candidates_);
    std::optional<Activity> reading(std::in_place, quiet_, kReading);
    std::vector<Entrant> now = entrants_of(grid_, identify_);
    reading.reset();
    for (Entrant& each : now)
      for (const Entrant& before : entrants_)
        if (before.identity == each.identity) {
          each.earlier = outcome_of(before);
          each.last_line = before.last_line;
        }
    entrants_ = std::move(now);
    if (!s_.fresh)
      say_picked_up(pick_up(entrants_, earlier_), entrants_, quiet_ ? fs::path() : file_.parent_path());
  }

  const TuneSettings& s_;
  const bool quiet_;
  const fs::path file_;
  const EarlierRuns earlier_;
  const Experiment held_;
  std::vector<Candidate> candidates_;
  Experiment grid_;
  Identifier identify_;
  std::vector<Entrant> entrants_;
};

int code_of(const Tuning& tuning, const Comparison& comparison) {
  const bool all_chosen = std::all_of(tuning.choices.begin(), tuning.choices.end(),
                                      [](const Choice& c) { return c.best.has_value(); });
  const bool any_failed = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                      [](const Row& r) { return r.count(RunStatus::kFailed) > 0; });
  return all_chosen && !any_failed ? 0 : 1;
}

void check_numbers(const TuneSettings& s) {
  if (s.extend < 0 || s.extend > 100)
    throw InvalidConfig(fmt::format("--extend {} is no number of rates; give 0 to 100", s.extend));
  if (!(s.margin > 0) || s.margin > 1)
    throw InvalidConfig(
        fmt::format("--margin {} is no accuracy; give more than 0 and at most 1, such as 0.05", s.margin));
}

int run(TuneSettings s, const Given& given) {
  check_numbers(s);
  s.cluster = s.simulation.cluster.string();
  s.simulation.cluster = find_file(kClusters, s.simulation.cluster);
  s.experiment = find_file(kExperiments, s.experiment);
  fs::path& out = s.simulation.training.out;
  if (out.empty()) out = s.experiment.empty() ? "out/tune" : "out/tune-" + s.experiment.stem().string();
  s.jobs = jobs_from(s.jobs);
  if (given("--rates") && s.rates.empty()) split_rates("");  // refused
  const std::vector<std::uint64_t> seeds = split_seeds(s.seeds);
  if (seeds.empty())
    throw InvalidConfig(
        "--seeds is empty; give different whole numbers with commas between them, such as 101,102");
  Experiment result = result_of(s, seeds, given);
  Experiment held = result;
  held.seeds = seeds;
  held.base.training.train.target.reset();
  held.base.training.data = held_out(result.base.training.data, s.holdout);
  result.base.training.data = without_holdout(result.base.training.data);
  trials_of(held);  // what is refused is so by the names it was given

  const TrainSettings& training = s.simulation.training;
  Tuner tuner(s, std::move(held), candidates_of(s, result));
  const bool interrupted = tuner.run();
  tuner.write();
  const Tuning tuning = tuner.tuning();
  const Comparison comparison = tuner.comparison();
  if (training.json)
    fmt::print("{}\n", json_text(tuning_json(tuning, comparison)));
  else
    fmt::print("{}", tuning_table(tuning, columns_of(STDOUT_FILENO)));
  if (interrupted) {
    std::fflush(stdout);
    fmt::print(stderr, "The same command again picks up what is here and runs what is missing.\n");
    throw Interrupted("the tuning was interrupted");
  }
  const fs::path tuned = out / "tuned.toml";
  write_whole_file(tuned, tuned_toml(result, cluster_from(out, s, result), tuning));
  if (!training.json)
    fmt::print("\nnext: tacit compare --experiment {}{}\n", tuned.string(), words_beside(s.simulation));
  return code_of(tuning, comparison);
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto* tune =
      app.add_subcommand("tune", "Find each strategy's learning rate on data held out from training");
  tune->footer(
      "Runs are simulated as by tacit compare, on training data alone. --out (out/tune) gets tune.json and "
      "tuned.toml, an experiment with what was chosen. The same command again picks up the runs that are "
      "there.\n"
      "Example:\n  tacit tune --cluster demo-8 --strategies ssgd,local:period=8 --model mlp --epochs 2\n"
      "  tacit tune --experiment slow-network\n"
      "  tacit compare --experiment out/tune/tuned.toml");
  auto s = std::make_shared<TuneSettings>();
  add_simulation_options(*tune, s->simulation);
  for (const char* absent : {"--strategy", "--seed", "--target", "--cost-only", "--parameters"})
    tune->remove_option(tune->get_option(absent));
  tune->get_option("--cluster")->required(false);
  auto* strategies =
      tune->add_option("--strategies", s->strategies, "What to tune: names with commas between them");
  auto* experiment = tune->add_option("--experiment", s->experiment,
                                      "File of the comparison that the rates are for: its strategies, its "
                                      "cluster and its options, where none are given here");
  strategies->needs("--cluster");
  experiment->excludes(strategies)->excludes("--cluster");
  auto* rates = tune->add_option("--rates", s->rates,
                                 "Learning rates with commas between them; if not said, a quarter of --lr to "
                                 "four times that, in steps of two");
  rates->excludes("--lr");
  tune->add_option("--seeds", s->seeds,
                   "Seeds to choose by, with commas between them: not those of the result");
  tune->add_option("--holdout", s->holdout,
                   "Training samples that are held out to choose by (10000 if --data does not say holdout=)");
  tune->add_option("--extend", s->extend, "Rates by which a grid that ends at its best may grow");
  tune->add_option("--margin", s->margin,
                   "Accuracy that a run may end below the best and still count as stable");
  tune->add_option("--jobs", s->jobs, "Runs at a time (0: one per core)");
  tune->add_flag("--fresh", s->fresh, "Repeat also the runs that --out holds already, and overwrite them");
  const Given given = [tune](const std::string& option) {
    const CLI::Option* known = tune->get_option_no_throw(option);
    return known != nullptr && known->count() > 0;
  };
  tune->callback([=, &action] { action = [=] { return run(*s, given); }; });
}

}  // namespace tacit::cli
