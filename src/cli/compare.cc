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
#include "cli/launch/children.h"
#include "cli/launch/descriptor.h"
#include "cli/launch/lines.h"
#include "cli/simulate.h"
#include "tacit/core/error.h"
#include "tacit/strategies/builtin.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr int kEvaluateEvery = 20;  // steps, where a target is wanted and nothing else was said

struct Settings {
  SimulateSettings simulation;
  std::string strategies;
  std::optional<double> target;
  int jobs = 0;  // 0: as many as there are cores
};

// One strategy's run.
struct Contender {
  std::string strategy;
  fs::path out;
  LineCutter lines;
  std::string last_line = "waits for a core";
  std::optional<Ending> how;
};

// Starts runs as cores become free and shows one line of each.
class Race final : public Watcher {
 public:
  Race(asio::io_context& loop, const Settings& settings, std::vector<Contender>& contenders)
      : loop_(loop),
        settings_(settings),
        contenders_(contenders),
        live_(isatty(STDERR_FILENO) == 1),
        signals_(loop, SIGINT, SIGTERM) {
    for (const Contender& each : contenders_) width_ = std::max(width_, each.strategy.size());
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
    Contender& who = contenders_[static_cast<std::size_t>(id)];
    who.lines.take(bytes, [&](const std::string& line) { show(who, line); });
  }
  void ended(int id, const Ending& how) override {
    Contender& who = contenders_[static_cast<std::size_t>(id)];
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
    if (next_ == contenders_.size()) return;
    SimulateSettings one = settings_.simulation;
    one.training.train.strategy = contenders_[next_].strategy;
    one.training.out = contenders_[next_].out;
    SpawnPlan plan{{fs::read_symlink("/proc/self/exe").string()}, current_environment(), {}};
    for (std::string& word : command_line(one)) plan.command.push_back(std::move(word));
    const UniqueFd null = open_null();
    children_->start(static_cast<int>(next_++), std::move(plan), null.get());
  }

  void show(Contender& who, const std::string& line) {
    who.last_line = line;
    if (settings_.simulation.training.quiet) return;
    live_ ? draw() : fmt::print(stderr, "{:<{}}  {}\n", who.strategy, width_, line);
  }
  void draw() {
    if (!live_ || settings_.simulation.training.quiet) return;
    if (drawn_) fmt::print(stderr, "\x1b[{}A", contenders_.size());
    for (const Contender& each : contenders_)
      fmt::print(stderr, "\r\x1b[K{:<{}}  {}\n", each.strategy, width_, each.last_line);
    drawn_ = true;
  }

  asio::io_context& loop_;
  const Settings& settings_;
  std::vector<Contender>& contenders_;
  const bool live_;
  asio::signal_set signals_;
  Children* children_ = nullptr;
  std::size_t width_ = 0;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  bool drawn_ = false;
  bool interrupted_ = false;
};

std::string folder_name(std::string strategy) {
  std::replace_if(
      strategy.begin(), strategy.end(), [](char c) { return c == ':' || c == '=' || c == ',' || c == '/'; },
      '-');
  return strategy;
}

std::vector<Contender> contenders_of(const Settings& s, int workers) {
  std::vector<Contender> all;
  for (const std::string& strategy : split_strategies(s.strategies)) {
    TrainOptions one = s.simulation.training.train;
    one.strategy = strategy;
    check_compression(one, builtin_strategies(), workers);
    for (const Contender& other : all)
      if (folder_name(other.strategy) == folder_name(strategy))
        throw InvalidConfig("--strategies names " + strategy + " twice; name each once");
    all.push_back({strategy, s.simulation.training.out / folder_name(strategy), {}, "waits for a core", {}});
  }
  return all;
}

int run(Settings s) {
  if (s.simulation.training.out.empty()) s.simulation.training.out = "out/compare";
  const Cluster cluster = check(s.simulation);
  if (s.target && !(*s.target > 0 && *s.target <= 1))
    throw InvalidConfig(
        fmt::format("--target {} is no accuracy; give more than 0 and at most 1, such as 0.88", *s.target));
  std::int64_t& every = s.simulation.training.train.evaluate_every;
  if (s.target && every == 0 && !s.simulation.cost_only) every = kEvaluateEvery;
  if (s.jobs < 0) throw InvalidConfig(fmt::format("--jobs {} is too few; give 1 or more", s.jobs));
  if (s.jobs == 0) s.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<Contender> contenders = contenders_of(s, cluster.workers);

  hide_inherited();
  ignore_broken_pipes();
  bool interrupted = false;
  {
    const Guard guard;
    asio::io_context loop(1);
    Race race(loop, s, contenders);
    Children children(loop, guard, race);
    race.start(children, s.jobs);
    loop.run();
    interrupted = race.interrupted();
  }
  if (interrupted) throw Interrupted("the comparison was interrupted");

  std::vector<Outcome> outcomes;
  for (const Contender& each : contenders) {
    const bool good = each.how && each.how->good();
    outcomes.push_back(good ? read_outcome(each.strategy, each.out, s.target)
                            : failed_outcome(each.strategy, each.last_line));
  }
  set_speed_ups(outcomes);
  write_comparison(outcomes, s.target, s.simulation.training.out / "compare.json");
  s.simulation.training.json ? print_comparison_json(outcomes, s.target)
                             : print_comparison(outcomes, s.target);
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.error.empty(); }) ? 0
                                                                                                         : 1;
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
      "--epochs 2 --target 0.85");
  auto s = std::make_shared<Settings>();
  add_simulation_options(*compare, s->simulation);
  compare->remove_option(compare->get_option("--strategy"));
  compare->add_option("--strategies", s->strategies, "What to compare: names with commas between them")
      ->required();
  compare->add_option(
      "--target", s->target,
      "Test accuracy, between 0 and 1, whose time is wanted; runs are evaluated every 20 steps then, or as "
      "--evaluate-every says");
  compare->add_option("--jobs", s->jobs, "Runs at a time (0: one per core)");
  compare->callback([=, &action] { action = [=] { return run(*s); }; });
}

}  // namespace tacit::cli
