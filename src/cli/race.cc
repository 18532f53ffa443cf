// SPDX-License-Identifier: MIT
#include "cli/race.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include "cli/launch/children.h"
#include "cli/launch/descriptor.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 12;  // of progress; with more entrants only those that run are shown

// Starts runs as cores become free and shows one line of each.
class Race final : public Watcher {
 public:
  Race(asio::io_context& loop, const RaceOptions& options, std::vector<Entrant>& entrants)
      : loop_(loop),
        options_(options),
        entrants_(entrants),
        live_(isatty(STDERR_FILENO) == 1),
        signals_(loop, SIGINT, SIGTERM) {
    for (const Entrant& each : entrants_) width_ = std::max(width_, each.name.size());
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (!entrants_[i].earlier) waiting_.push_back(i);
    std::reverse(waiting_.begin(), waiting_.end());
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      interrupted_ = true;
      children_->signal(SIGTERM);
    });
  }

  // There must be something to run.
  void start(Children& children) {
    children_ = &children;
    for (int i = 0; i < options_.jobs; ++i) start_next();
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
    --running_;
    if (!interrupted_ || how.good()) who.how = how;
    if (how.good()) show(who, "done");
    asio::post(loop_, [this] { go_on(); });  // who tells us is walking over its children
  }
  void when_room(Stream, std::function<void()> go_on) override { go_on(); }

 private:
  void go_on() {
    options_.on_ended();
    if (!interrupted_) start_next();
    if (running_ == 0) loop_.stop();
  }
  void start_next() {
    if (waiting_.empty()) return;
    const std::size_t next = waiting_.back();
    waiting_.pop_back();
    Entrant& who = entrants_[next];
    who.started = true;
    // What another run left there must not be taken for its own, if it ends before it begins to write.
    std::error_code ignored;
    for (const char* file : {"run.jsonl", "summary.json"})
      fs::remove(who.trial.settings.training.out / file, ignored);
    SpawnPlan plan{{fs::read_symlink("/proc/self/exe").string()}, current_environment(), {}};
    for (std::string& word : command_line(who.trial.settings)) plan.command.push_back(std::move(word));
    const UniqueFd null = open_null();
    children_->start(static_cast<int>(next), std::move(plan), null.get());
    ++running_;
  }

  void show(Entrant& who, const std::string& line) {
    who.last_line = line;
    if (options_.quiet) return;
    live_ ? draw() : fmt::print(stderr, "{:<{}}  {}\n", who.name, width_, line);
  }
  bool over(const Entrant& each) const { return each.how || each.earlier; }
  void draw() {
    if (!live_ || options_.quiet) return;
    if (drawn_ > 0) fmt::print(stderr, "\x1b[{}A", drawn_);
    const bool all = entrants_.size() <= kMostLines;
    std::size_t lines = 0;
    for (const Entrant& each : entrants_) {
      if (!all && (!each.started || over(each))) continue;
      fmt::print(stderr, "\r\x1b[K{:<{}}  {}\n", each.name, width_, each.last_line);
      ++lines;
    }
    const auto done =
        std::count_if(entrants_.begin(), entrants_.end(), [&](const Entrant& e) { return over(e); });
    if (!all) fmt::print(stderr, "\r\x1b[K{} of {} runs done\n", done, entrants_.size());
    for (lines += all ? 0 : 1; lines < drawn_; ++lines) fmt::print(stderr, "\r\x1b[K\n");
    drawn_ = lines;
  }

  asio::io_context& loop_;
  const RaceOptions& options_;
  std::vector<Entrant>& entrants_;
  const bool live_;
  asio::signal_set signals_;
  Children* children_ = nullptr;
  std::vector<std::size_t> waiting_;  // to be started, the next one last
  std::size_t running_ = 0;
  std::size_t width_ = 0;
  std::size_t drawn_ = 0;  // lines
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
