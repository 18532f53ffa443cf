// SPDX-License-Identifier: MIT
#include "cli/launch/supervisor.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>

#include "cli/launch/ranks.h"
#include "core/exit_code.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kFromTermToKill{5};

// SIGUSR1 and SIGUSR2 are the program's own.
bool ends_jobs(int number) { return number == SIGINT || number == SIGTERM || number == SIGHUP; }

bool asks_for_end(int number) { return number == SIGINT || number == SIGTERM; }

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A rank that lost a peer has only noticed what another one died of.
bool is_echo(const Ending& how) { return how == Ending::exited(ExitCode::kPeerLost); }

}  // namespace

Supervisor::Supervisor(asio::io_context& loop, Options options)
    : loop_(loop),
      options_(options),
      out_(loop, duplicate(STDOUT_FILENO), [this](const std::string& why) { on_broken_output(why); }),
      err_(loop, duplicate(STDERR_FILENO), {}),
      signals_(loop, SIGINT, SIGTERM, SIGUSR1),
      patience_(loop),
      farewell_(loop),
      stillness_(loop),
      pause_(loop),
      endings_(static_cast<std::size_t>(options.ranks)),
      notes_(static_cast<std::size_t>(options.ranks)),
      ports_(static_cast<std::size_t>(options.ranks)),
      restarts_(options.restart),
      left_(options.ranks) {
  signals_.add(SIGUSR2);
  if (!is_ignored(SIGHUP)) signals_.add(SIGHUP);  // nohup
  wait_for_signal();
  for (int rank = 0; rank < options.ranks; ++rank)
    lines_.insert(lines_.end(), 2, LinePrefixer(fmt::format("[{}] ", rank)));
}

void Supervisor::run(RankHost& ranks) {
  ranks_ = &ranks;
  loop_.run();
}

void Supervisor::output(int rank, Stream stream, std::string_view bytes) {
  Output& to = stream == Stream::kOut ? out_ : err_;
  if (!options_.prefix) return to.write(bytes);
  to.write(lines_[2 * static_cast<std::size_t>(rank) + (stream == Stream::kOut ? 0 : 1)].take(bytes));
}

void Supervisor::when_room(Stream stream, std::function<void()> go_on) {
  (stream == Stream::kOut ? out_ : err_).when_room(std::move(go_on));
}

void Supervisor::say(const std::string& sentence) { err_.write("tacit launch: " + sentence + "\n"); }

void Supervisor::ended(int rank, const Ending& how) {
  const auto index = static_cast<std::size_t>(rank);
  out_.write(lines_[2 * index].finish());
  err_.write(lines_[2 * index + 1].finish());
  endings_[index] = how;
  --left_;
  if (restarts_.returning(rank))
    on_failed_return(rank, how);
  else if (!how.good())
    on_failure(rank, how);
  if (left_ == 0) return finish();
  release_given_up();
  // Not from here: whoever says that a rank has ended is not done with it.
  asio::post(loop_, [this] { start_next(); });
}

void Supervisor::noted(int rank, LauncherNote note, std::uint16_t port) {
  const auto index = static_cast<std::size_t>(rank);
  notes_[index] = std::max(notes_[index], note);  // one host's words may come behind another's
  if (port != 0) ports_[index] = port;
  if (left_ == 0) return;
  if (note == LauncherNote::kOthersGoOn && restarts_.back(rank)) on_return(rank);
  release_given_up();
  asio::post(loop_, [this] { start_next(); });
}

bool Supervisor::explains(int rank, const Ending& how) const {
  return !forced_ && !released_.contains(rank) && answered(how) == 0 && !abandoned_;
}

void Supervisor::on_failure(int rank, const Ending& how) {
  const bool is_spared = spared(rank);
  const bool is_cause = !cause_ || ((is_echo(cause_->how) || cause_->spared) && !is_echo(how) && !is_spared);
  const bool goes_on = answered(how) == 0 && forgiven() && !ending_ && !abandoned_;
  std::string then;
  if (goes_on && is_spared)
    then = restarts_.after_loss(restarts_.lost(rank, others(), Restarts::Clock::now()));
  else if (goes_on)
    then = fmt::format("; the others go on (--may-lose {})", options_.may_lose);
  if (explains(rank, how) && (is_cause || (goes_on && is_spared))) say(describe_end(rank, how) + then);
  if (explains(rank, how) && is_cause) cause_ = {rank, how, !passed_.empty(), is_spared};
  goes_on ? watch_for_stillness() : end_ranks_after(options_.grace);
}

void Supervisor::on_failed_return(int rank, const Ending& how) {
  stayed_away_.insert(rank);
  const auto fate = restarts_.failed(rank, how, others(), Restarts::Clock::now());
  if (explains(rank, how)) say(describe_end(rank, how) + restarts_.after_failure(fate));
}

void Supervisor::on_return(int rank) {
  say(name_of(rank) + " is back");
  released_.erase(rank);
  // Nothing is left of what was wrong.
  if (cause_ && cause_->spared && cause_->rank == rank) cause_.reset();
}

void Supervisor::start_next() {
  if (left_ == 0 || !restarts_.waits()) return;
  const Restarts::Others seen = others();
  for (const int rank : restarts_.drop(seen))
    if (seen != Restarts::Others::kEnding) say(name_of(rank) + " " + Restarts::describe_drop(seen));
  const auto now = Restarts::Clock::now();
  if (const auto start = restarts_.next(seen, now)) return start_again(*start);
  if (restarts_.not_before() <= now) return;  // until another rank says something or ends
  pause_.expires_at(restarts_.not_before());
  pause_.async_wait([this](boost::system::error_code error) {
    if (!error) start_next();
  });
}

void Supervisor::start_again(const Restarts::Start& start) {
  const auto index = static_cast<std::size_t>(start.rank);
  const Return how{start.rank, start.number, members()};
  if (!start.said) say(name_of(start.rank) + " " + restarts_.describe_start(start.number));
  endings_[index].reset();
  notes_[index] = LauncherNote::kNone;
  ports_[index] = 0;
  stayed_away_.erase(start.rank);
  ++left_;
  try {
    ranks_->start_again(how);
  } catch (const InvalidConfig& error) {
    ended(start.rank, Ending::not_started(error.what()));
  }
}

Restarts::Others Supervisor::others() const {
  if (ending_ || abandoned_ || std::any_of(passed_.begin(), passed_.end(), ends_jobs))
    return Restarts::Others::kEnding;
  if (one_is_done()) return Restarts::Others::kFinishing;
  if (!members().empty()) return Restarts::Others::kTakeIn;
  const std::vector<int> left = living();
  const bool all_spoke = std::all_of(left.begin(), left.end(), [&](int rank) {
    return notes_[static_cast<std::size_t>(rank)] != LauncherNote::kNone;
  });
  return all_spoke ? Restarts::Others::kTakeNone : Restarts::Others::kUnknown;
}

std::string Supervisor::members() const {
  std::string text;
  for (const int rank : living()) {
    const std::uint16_t port = ports_[static_cast<std::size_t>(rank)];
    if (port == 0) continue;
    const std::string host = ranks_->host_of(rank);
    text += fmt::format("{}{}@{}", text.empty() ? "" : ",", rank,
                        address_at(host.empty() ? "127.0.0.1" : host, port));
  }
  return text;
}

std::string Supervisor::name_of(int rank) const {
  const std::string host = ranks_ == nullptr ? "" : ranks_->host_of(rank);
  return fmt::format("rank {}{}{}", rank, host.empty() ? "" : " on host ", host);
}

std::string Supervisor::describe_end(int rank, const Ending& how) const {
  // A rank that was lost says itself with which host.
  return describe(how.kind == Ending::Kind::kLost ? fmt::format("rank {}", rank) : name_of(rank), how);
}

void Supervisor::watch_for_stillness() {
  stillness_.expires_after(std::chrono::seconds(1));
  stillness_.async_wait([this](boost::system::error_code error) {
    if (error || left_ == 0 || ending_) return;
    const bool before = std::exchange(still_, ranks_->all_stopped());
    if (!still_ || !before) return watch_for_stillness();
    say(describe_stopped(living(), options_.grace.count()));
    end_ranks_after(options_.grace);
  });
}

bool Supervisor::spared(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  if (released_.contains(rank) || stayed_away_.contains(rank)) return true;
  if (notes_[index] == LauncherNote::kNone || !endings_[index]) return false;
  const Ending& how = *endings_[index];
  return how.kind == Ending::Kind::kKilled || how.kind == Ending::Kind::kLost || is_echo(how);
}

std::vector<int> Supervisor::given_up() const {
  std::vector<int> ranks = living();
  std::erase_if(ranks, [&](int rank) {
    return notes_[static_cast<std::size_t>(rank)] != LauncherNote::kGivenUp && !restarts_.returning(rank);
  });
  return ranks;
}

bool Supervisor::one_is_done() const {
  for (std::size_t i = 0; i < endings_.size(); ++i)
    if (endings_[i] && endings_[i]->good() && !stayed_away_.contains(static_cast<int>(i))) return true;
  return false;
}

void Supervisor::release_given_up() {
  std::vector<int> ranks = given_up();
  std::erase_if(ranks, [&](int rank) { return released_.contains(rank); });
  if (ranks.empty() || !one_is_done() || ending_ || abandoned_) return;
  released_.insert(ranks.begin(), ranks.end());
  say(describe_given_up(ranks, options_.grace.count()));
  farewell_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(options_.grace));
  farewell_.async_wait([this](boost::system::error_code error) {
    if (error || given_up().empty()) return;
    say(describe_still(given_up()));
    for (const int rank : given_up()) ranks_->signal(rank, SIGTERM);
    farewell_.expires_after(kFromTermToKill);
    farewell_.async_wait([this](boost::system::error_code cancelled) {
      for (const int rank : cancelled ? std::vector<int>{} : given_up()) ranks_->signal(rank, SIGKILL);
    });
  });
}

bool Supervisor::forgiven() const {
  int bad = 0;
  for (std::size_t i = 0; i < endings_.size(); ++i)
    if (endings_[i] && !endings_[i]->good() && !spared(static_cast<int>(i)) && answered(*endings_[i]) == 0)
      ++bad;
  return bad <= options_.may_lose && (left_ > 0 || one_is_done());
}

void Supervisor::end_ranks_after(std::chrono::duration<double> delay) {
  if (std::exchange(ending_, true)) return;
  patience_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
  patience_.async_wait([this](boost::system::error_code error) {
    if (error || left_ == 0) return;
    forced_ = true;
    if (!abandoned_) say(describe_still(living()));
    // Who got one that was passed on has been asked; a second one from here would kill it before its account is written.
    if (std::find(passed_.begin(), passed_.end(), SIGTERM) == passed_.end()) ranks_->signal(SIGTERM);
    patience_.expires_after(kFromTermToKill);
    patience_.async_wait([this](boost::system::error_code cancelled) {
      if (!cancelled && left_ > 0) ranks_->signal(SIGKILL);
    });
  });
}

void Supervisor::wait_for_signal() {
  signals_.async_wait([this](boost::system::error_code error, int number) {
    if (error) return;
    on_signal(number);
    wait_for_signal();
  });
}

void Supervisor::on_signal(int number) {
  if (left_ == 0) {  // nobody reads what is still to be shown
    unshown_ = number;
    return loop_.stop();
  }
  const bool again = asks_for_end(number) && std::any_of(passed_.begin(), passed_.end(), asks_for_end);
  if (again) {
    killed_ = true;
    say("a second signal: killing the ranks");
    return ranks_->signal(SIGKILL);
  }
  passed_.push_back(number);
  if (asks_for_end(number))
    say(fmt::format("SIG{} goes to the ranks; a second one kills them", ::sigabbrev_np(number)));
  ranks_->signal(number);
}

void Supervisor::on_broken_output(const std::string& why) {
  output_broken_ = true;
  say("cannot write to standard output (" + why + "); ending the ranks");
  patience_.cancel();
  ending_ = false;
  end_ranks_after(std::chrono::seconds(0));
}

void Supervisor::abandon(const std::string& why) {
  if (!abandoned_) abandoned_ = why;
}

void Supervisor::finish() {
  patience_.cancel();
  farewell_.cancel();
  std::vector<Ending> endings;
  for (const auto& ending : endings_) endings.push_back(*ending);
  const bool good = std::all_of(endings.begin(), endings.end(), [](const Ending& e) { return e.good(); });
  const bool said = endings.size() == 1 && cause_;
  if (!good && !said && !abandoned_) say(describe_all(endings));
  out_.when_empty([this] { err_.when_empty([this] { loop_.stop(); }); });
}

int Supervisor::answered(const Ending& how) const {
  for (const int number : passed_) {
    if (how == Ending::killed(number) || how == Ending::exited(128 + number)) return number;
    if (how.kind == Ending::Kind::kNotStarted && number != SIGUSR1 && number != SIGUSR2) return number;
    if (!asks_for_end(number)) continue;
    if (how == Ending::exited(ExitCode::kInterrupted) || (killed_ && how == Ending::killed(SIGKILL)))
      return number;
  }
  return 0;
}

int Supervisor::exit_code() const {
  if (abandoned_) throw InvalidConfig(*abandoned_);
  if (output_broken_) return ExitCode::kFailed;
  if (unshown_ != 0) return 128 + unshown_;
  if (!cause_ || cause_->after_signal || cause_->spared || forgiven())
    for (const auto& ending : endings_)
      if (const int number = ending ? answered(*ending) : 0; number != 0) return 128 + number;
  if (!cause_ || (forgiven() && !forced_)) return 0;
  return cause_->how.kind == Ending::Kind::kExited ? cause_->how.value : ExitCode::kPeerLost;
}

std::vector<int> Supervisor::living() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < endings_.size(); ++i)
    if (!endings_[i]) ranks.push_back(static_cast<int>(i));
  return ranks;
}

}  // namespace tacit::cli
