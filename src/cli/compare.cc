// SPDX-License-Identifier: MIT
// tacit compare: several strategies on one simulated cluster, each in a process of its own.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/experiment.h"
#include "cli/launch/children.h"
#include "cli/launch/descriptor.h"
#include "cli/launch/lines.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

struct Settings {
  SimulateSettings simulation;
  std::string strategies;
  fs::path experiment;
  std::string seeds;
  std::optional<double> target;
  int jobs = 0;  // 0: as many as there are cores
};

// One trial as it runs.
struct Entrant {
  Trial trial;
  std::string name;  // in front of its progress
  LineCutter lines{};
  std::string last_line = "waits for a core";
  bool started = false;
  std::optional<Ending> how{};
};

constexpr std::size_t kMostLines = 12;  // of progress; with more entrants only those that run are shown

// Starts runs as cores become free and shows one line of each.
class Race final : public Watcher {
 public:
  Race(asio::io_context& loop, bool quiet, std::vector<Entrant>& entrants)
      : loop_(loop),
        quiet_(quiet),
        entrants_(entrants),
        live_(isatty(STDERR_FILENO) == 1),
        signals_(loop, SIGINT, SIGTERM) {
    for (const Entrant& each : entrants_) width_ = std::max(width_, each.name.size());
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      interrupted_ = true;
      children_->signal(SIGTERM);
    });
  }

  void start(Children& children, int jobs) {
    children_ = &children;
    while (jobs-- > 0) start_next();
    draw();
  }
  bool interrupted() const { return interrupted_; }

  void output(int id, Stream stream, std::string_view bytes) override {
    if (stream == Stream::kOut) return;  // its summary, which is in its folder too
    Entrant& who = entrants_[static_cast<std::size_t>(id)];
    who.lines.take(bytes, [&](const std::string& line) { show(who, line); });
  }
  void ended(int id, const Ending& how) override {
    Entrant& who = entrants_[static_cast<std::size_t>(id)];
    who.how = how;
    if (how.good()) show(who, "done");
    ++ended_;
    asio::post(loop_, [this] { go_on(); });  // who tells us is walking over its children
  }
  void when_room(Stream, std::function<void()> go_on) override { go_on(); }

 private:
  void go_on() {
    if (!interrupted_) start_next();
    if (ended_ == next_) loop_.stop();
  }
  void start_next() {
    if (next_ == entrants_.size()) return;
    Entrant& who = entrants_[next_];
    who.started = true;
    SpawnPlan plan{{fs::read_symlink("/proc/self/exe").string()}, current_environment(), {}};
    for (std::string& word : command_line(who.trial.settings)) plan.command.push_back(std::move(word));
    const UniqueFd null = open_null();
    children_->start(static_cast<int>(next_++), std::move(plan), null.get());
  }

  void show(Entrant& who, const std::string& line) {
    who.last_line = line;
    if (quiet_) return;
    live_ ? draw() : fmt::print(stderr, "{:<{}}  {}\n", who.name, width_, line);
  }
  void draw() {
    if (!live_ || quiet_) return;
    if (drawn_ > 0) fmt::print(stderr, "\x1b[{}A", drawn_);
    const bool all = entrants_.size() <= kMostLines;
    std::size_t lines = 0;
    for (const Entrant& each : entrants_) {
      if (!all && (!each.started || each.how)) continue;
      fmt::print(stderr, "\r\x1b[K{:<{}}  {}\n", each.name, width_, each.last_line);
      ++lines;
    }
    if (!all) fmt::print(stderr, "\r\x1b[K{} of {} runs done\n", ended_, entrants_.size());
    for (lines += all ? 0 : 1; lines < drawn_; ++lines) fmt::print(stderr, "\r\x1b[K\n");
    drawn_ = lines;
  }

  asio::io_context& loop_;
  const bool quiet_;
  std::vector<Entrant>& entrants_;
  const bool live_;
  asio::signal_set signals_;
  Children* children_ = nullptr;
  std::size_t width_ = 0;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  std::size_t drawn_ = 0;  // lines
  bool interrupted_ = false;
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
  for (Trial& trial : trials_of(e)) {
    std::string name = e.contenders[trial.contender].name;
    if (e.workers.size() > 1) name += fmt::format(", {} workers", trial.workers);
    if (e.seeds.size() > 1) name += fmt::format(", seed {}", trial.seed);
    all.push_back({std::move(trial), std::move(name)});
  }
  return all;
}

Comparison comparison_of(const Experiment& e, const std::vector<Entrant>& entrants) {
  Comparison c{e.title, e.target, {}};
  for (const Entrant& each : entrants) {
    const Trial& t = each.trial;
    const std::string& name = e.contenders[t.contender].name;
    if (c.rows.empty() || c.rows.back().name != name || c.rows.back().workers != t.workers)
      c.rows.push_back({name, t.workers, {}, {}});
    const bool good = each.how && each.how->good();
    c.rows.back().outcomes.push_back(good ? read_outcome(t.seed, t.settings.training.out, e.target)
                                          : failed_outcome(t.seed, each.last_line));
  }
  set_speed_ups(c.rows);
  return c;
}

int run(Settings s, const Given& given) {
  TrainSettings& training = s.simulation.training;
  if (training.out.empty())
    training.out = s.experiment.empty() ? fs::path("out/compare") : "out" / s.experiment.stem();
  if (s.jobs < 0) throw InvalidConfig(fmt::format("--jobs {} is too few; give 1 or more", s.jobs));
  if (s.jobs == 0) s.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Experiment experiment = experiment_of(s, given);
  if (!s.seeds.empty()) experiment.seeds = split_seeds(s.seeds);
  if (s.target) experiment.target = s.target;
  std::vector<Entrant> entrants = entrants_of(experiment);

  hide_inherited();
  ignore_broken_pipes();
  bool interrupted = false;
  {
    const Guard guard;
    asio::io_context loop(1);
    Race race(loop, training.quiet, entrants);
    Children children(loop, guard, race);
    race.start(children, s.jobs);
    loop.run();
    interrupted = race.interrupted();
  }
  if (interrupted) throw Interrupted("the comparison was interrupted");

  const Comparison comparison = comparison_of(experiment, entrants);
  comparison.write(training.out / "compare.json");
  training.json ? comparison.print_json() : comparison.print();
  return comparison.good() ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* compare =
      app.add_subcommand("compare", "Simulate several strategies on one cluster and say which is faster");
  compare->footer(
      "Each strategy runs in a process of its own; their run logs and compare.json land in --out "
      "(out/compare).\n"
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
      "are given here");
  strategies->needs("--cluster");
  experiment->excludes(strategies)->excludes("--cluster");
  compare->add_option("--seeds", s->seeds,
                      "Seeds with commas between them; the table has means and spreads then");
  compare->add_option(
      "--target", s->target,
      "Test accuracy, between 0 and 1, whose time is wanted; runs are evaluated every 20 steps "
      "then, or as --evaluate-every says");
  compare->add_option("--jobs", s->jobs, "Runs at a time (0: one per core)");
  const Given given = [compare](const std::string& option) { return compare->count(option) > 0; };
  compare->callback([=, &action] { action = [=] { return run(*s, given); }; });
}

}  // namespace tacit::cli
