// SPDX-License-Identifier: MIT
// Shows the output of a job to a person, and decides what happens when a rank fails or a signal comes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/launch/lines.h"
#include "cli/launch/output.h"
#include "cli/launch/restarts.h"
#include "cli/launch/watcher.h"

namespace tacit::cli {

// Ranks' output goes to stdout and stderr. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to the ranks, and
// a second SIGINT or SIGTERM kills them. After the first failure that is one too many the others have `grace` to end by
// themselves; so has a rank that others went on without, once one of them has ended well. A lost rank that they go on
// without is started again, if that was asked for.
//
// Lifetime  signals are caught from the moment it is made. Threads: the loop's.
class Supervisor final : public Watcher {
 public:
  struct Options {
    int ranks = 1;
    std::chrono::duration<double> grace{15};
    int may_lose = 0;  // how many ranks may fail, beside those that are spared, before the job is ended
    int restart = 0;   // how many times a rank that is spared may be started again
    bool prefix = true;
  };
  Supervisor(boost::asio::io_context& loop, Options options);

  // Runs the loop until every rank has ended and all is shown.
  void run(RankHost& ranks);
  // Of the job that has been run. Throws InvalidConfig where it was abandoned.
  int exit_code() const;

  void output(int rank, Stream stream, std::string_view bytes) override;
  void noted(int rank, LauncherNote note, std::uint16_t port) override;
  void ended(int rank, const Ending& how) override;
  void when_room(Stream stream, std::function<void()> go_on) override;

  // A line of the launcher's own, on stderr.
  void say(const std::string& sentence);
  // Lines that are no rank's, such as those of ssh, on stderr.
  void show(const std::string& lines) { err_.write(lines); }
  // The job cannot be run. Whoever says so ends its ranks; nothing more is said of them.
  void abandon(const std::string& why);

 private:
  struct Failure {
    int rank;
    Ending how;
    bool after_signal;
    bool spared;
  };

  void wait_for_signal();
  void on_signal(int number);
  void on_failure(int rank, const Ending& how);
  // Of a rank that was started again and was not back yet: harms nobody.
  void on_failed_return(int rank, const Ending& how);
  void on_return(int rank);
  // Starts a lost rank again, now or when it is time.
  void start_next();
  void start_again(const Restarts::Start& start);
  Restarts::Others others() const;
  std::string members() const;          // who takes in ranks that come back, as Return has it
  std::string name_of(int rank) const;  // with its host, where that is another one
  std::string describe_end(int rank, const Ending& how) const;
  void on_broken_output(const std::string& why);
  // SIGTERM after `delay`, and SIGKILL 5 seconds later.
  void end_ranks_after(std::chrono::duration<double> delay);
  // Begins the grace period where those that should go on without a rank are all stopped.
  void watch_for_stillness();
  // Begins the grace period of the ranks that others went on without, once one of these has ended well.
  void release_given_up();
  void finish();
  // Whether a rank has ended well that took part.
  bool one_is_done() const;
  bool explains(int rank, const Ending& how) const;  // what the launcher has done itself explains nothing
  // The forwarded signal that explains this ending; 0 if none does.
  int answered(const Ending& how) const;
  std::vector<int> living() const;
  std::vector<int> given_up() const;  // and living; those on their way back are among them
  // Whether the others go on without this rank, which failed: it had said so before it was lost, by a signal, with its
  // host or as one that was cut off from its peers; or it was ended because they have.
  bool spared(int rank) const;
  // Whether the job may go on: at most may_lose ranks failed, those that are spared not counted, and some live.
  bool forgiven() const;

  boost::asio::io_context& loop_;
  const Options options_;
  Output out_;
  Output err_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer farewell_;  // to ranks that were given up
  boost::asio::steady_timer stillness_;
  boost::asio::steady_timer pause_;  // after a return that failed
  RankHost* ranks_ = nullptr;        // from run on

  std::vector<LinePrefixer> lines_;  // two per rank: stdout, stderr
  std::vector<std::optional<Ending>> endings_;
  std::vector<LauncherNote> notes_;
  std::vector<std::uint16_t> ports_;  // where ranks take in others; 0 where they do not
  Restarts restarts_;
  std::set<int> stayed_away_;  // ranks that were started again and ended before they were back
  std::set<int> released_;     // ranks that were given up and are ended; their grace period has begun
  int left_;
  std::vector<int> passed_;  // signals, in the order they came
  bool killed_ = false;      // by a second signal
  bool still_ = false;       // all were stopped at the last look
  bool ending_ = false;      // the launcher has begun to end ranks itself, or will
  bool forced_ = false;      // it has sent SIGTERM
  std::optional<Failure> cause_;
  std::optional<std::string> abandoned_;
  bool output_broken_ = false;
  int unshown_ = 0;  // the signal that ended the wait for a reader of the output
};

}  // namespace tacit::cli
