// SPDX-License-Identifier: MIT
#include "cli/race.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "cli/launch/children.h"
#include "cli/launch/descriptor.h"
#include "cli/layout.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/time_left.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 12;    // of progress; with more entrants only those that run are shown
constexpr std::size_t kForProgress = 30;  // columns that a name leaves to it
constexpr std::chrono::milliseconds kRedraw{500};  // the time left goes on, and the terminal may be resized

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Starts runs as cores become free and shows one line of each.
class Race final : public Watcher {
 public:
  Race(asio::io_context& loop, const RaceOptions& options, std::vector<Entrant>& entrants)
      : loop_(loop),
        options_(options),
        entrants_(entrants),
        live_(LiveLines::of_stderr().seen() && !options.quiet),
        signals_(loop, SIGINT, SIGTERM),
        redraw_(loop) {
    for (const Entrant& each : entrants_) longest_name_ = std::max(longest_name_, width_of(each.name));
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (!entrants_[i].earlier) waiting_.push_back(i);
    std::reverse(waiting_.begin(), waiting_.end());
    wait_for_signal();
  }

  ~Race() override { LiveLines::of_stderr().leave(); }
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;

  // There must be something to run.
  void start(Children& children) {
    children_ = &children;
    for (int i = 0; i < options_.jobs; ++i) start_next();
    if (live_) draw_again();
  }
  bool interrupted() const { return interrupted_; }

  void output(int id, Stream stream, std::string_view bytes) override {
    if (stream == Stream::kOut) return;  // its summary, which is in its folder too
    Entrant& who = entrants_[static_cast<std::size_t>(id)];
    who.lines.take(bytes, [&](const std::string& line) { show(who, line); });
  }
  void ended(int id, const Ending& how) override {
    Entrant& who = entrants_[static_cast<std::size_t>(id)];
    --running_;
    if (!interrupted_ || how.good()) who.how = how;
    who.seconds = seconds_since(*who.started);
    if (how.good()) show(who, live_ ? "done" : "done; " + standing());
    asio::post(loop_, [this] { go_on(); });  // who tells us is walking over its children
  }
  void when_room(Stream, std::function<void()> go_on) override { go_on(); }

 private:
  // The first one asks the runs for their end, a second one ends them.
  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      children_->signal(std::exchange(interrupted_, true) ? SIGKILL : SIGTERM);
      wait_for_signal();
    });
  }
  void go_on() {
    options_.on_ended();
    if (!interrupted_) start_next();
    if (live_) draw();
    if (running_ == 0) loop_.stop();
  }
  void start_next() {
    if (waiting_.empty()) return;
    const std::size_t next = waiting_.back();
    waiting_.pop_back();
    Entrant& who = entrants_[next];
    who.started = Clock::now();
    who.last_line = "starts";
    // What another run left there must not be taken for its own, if it ends before it begins to write.
    std::error_code ignored;
    for (const char* file : {"run.jsonl", "summary.json"})
      fs::remove(who.trial.settings.training.out / file, ignored);
    SpawnPlan plan{{fs::read_symlink("/proc/self/exe").string()}, current_environment(), {}};
    for (std::string& word : command_line(who.trial.settings)) plan.command.push_back(std::move(word));
    if (live_) {  // its lines are shown beside its name
      const std::size_t room = LiveLines::of_stderr().room();
      std::erase_if(plan.environment, [](const std::string& each) { return each.starts_with("COLUMNS="); });
      plan.environment.push_back(fmt::format("COLUMNS={}", room - std::min(room - 1, name_width() + 2)));
    }
    const UniqueFd null = open_null();
    children_->start(static_cast<int>(next), std::move(plan), null.get());
    ++running_;
  }

  void show(Entrant& who, const std::string& line) {
    who.last_line = line;
    if (const auto share = share_said_by(line); share && *share > 0)
      who.expected_seconds = seconds_since(*who.started) / *share;
    if (options_.quiet) return;
    live_ ? draw() : LiveLines::of_stderr().say(fmt::format("{:<{}}  {}", who.name, longest_name_, line));
  }
  bool over(const Entrant& each) const { return each.how || each.earlier; }

  // "3 of 8 runs done, about 1:20 left for all"
  std::string standing() const {
    std::size_t done = 0;
    std::vector<double> took;
    std::vector<RunTime> under_way;
    for (const Entrant& each : entrants_) {
      if (over(each)) ++done;
      if (each.seconds) took.push_back(*each.seconds);
      if (each.started && !each.seconds)
        under_way.push_back({each.expected_seconds, seconds_since(*each.started)});
    }
    std::string text = fmt::format("{} of {} runs done", done, entrants_.size());
    const auto left = seconds_left(took, under_way, waiting_.size(), options_.jobs);
    return left && done < entrants_.size() ? text + ", about " + minutes(*left) + " left for all" : text;
  }
  std::size_t name_width() const {
    const std::size_t room = LiveLines::of_stderr().room();
    return std::min(longest_name_, std::max(room - std::min(room, kForProgress + 2), room / 2));
  }
  void draw() {
    const bool all = entrants_.size() <= kMostLines;
    const std::size_t names = name_width();
    std::vector<std::string> lines;
    for (const Entrant& each : entrants_) {
      if (!all && (!each.started || over(each))) continue;
      const std::string name = cut(each.name, names);
      lines.push_back(name + std::string(names - width_of(name) + 2, ' ') + each.last_line);
    }
    lines.push_back(standing());
    LiveLines::of_stderr().show(lines);
  }
  void draw_again() {
    draw();
    redraw_.expires_after(kRedraw);
    redraw_.async_wait([this](boost::system::error_code error) {
      if (!error) draw_again();
    });
  }

  asio::io_context& loop_;
  const RaceOptions& options_;
  std::vector<Entrant>& entrants_;
  const bool live_;
  asio::signal_set signals_;
  asio::steady_timer redraw_;
  Children* children_ = nullptr;
  std::vector<std::size_t> waiting_;  // to be started, the next one last
  std::size_t running_ = 0;
  std::size_t longest_name_ = 0;
  bool interrupted_ = false;
};

}  // namespace

Outcome outcome_of(const Entrant& e) {
  if (e.earlier) return *e.earlier;
  const std::uint64_t seed = e.trial.seed;
  Outcome o = outcome_without_numbers(seed, RunStatus::kMissing, "");
  if (e.how) {
    o = outcome_without_numbers(seed, RunStatus::kFailed, e.last_line);
    try {
      const Outcome read = read_outcome(seed, e.trial.settings.training.out);
      // A run that diverged says so by its exit code as well.
      if (read.has_numbers() && e.how->good() == (read.status == RunStatus::kFinished)) o = read;
    } catch (const InvalidConfig&) {
      // no run log: it failed before it had one
    }
  }
  o.identity = e.identity;
  return o;
}

bool interrupted_race(std::vector<Entrant>& entrants, const RaceOptions& options) {
  if (std::all_of(entrants.begin(), entrants.end(), [](const Entrant& e) { return e.earlier.has_value(); }))
    return false;
  hide_inherited();
  ignore_broken_pipes();
  const Guard guard;
  asio::io_context loop(1);
  Race race(loop, options, entrants);
  Children children(loop, guard, race);
  race.start(children);
  loop.run();
  return race.interrupted();
}

}  // namespace tacit::cli
