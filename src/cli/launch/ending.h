// SPDX-License-Identifier: MIT
// How a process ended, and how that is said.
#pragma once

#include <span>
#include <string>
#include <utility>

namespace tacit::cli {

struct Ending {
  enum class Kind {
    kExited,      // value is the exit code
    kKilled,      // value is the signal
    kLost,        // with its host; why says more
    kNotStarted,  // the job was ended before, or why says more
  };

  static Ending exited(int code) { return {Kind::kExited, code, {}}; }
  static Ending killed(int signal) { return {Kind::kKilled, signal, {}}; }
  static Ending lost(std::string why) { return {Kind::kLost, 0, std::move(why)}; }
  static Ending not_started(std::string why = {}) { return {Kind::kNotStarted, 0, std::move(why)}; }
  static Ending from_wait_status(int status);

  bool good() const { return kind == Kind::kExited && value == 0; }
  friend bool operator==(const Ending&, const Ending&) = default;

  Kind kind = Kind::kExited;
  int value = 0;
  std::string why;
};

// "rank 2 was killed by signal 9 (Killed)", "ssh exited with 255"
std::string describe(const std::string& who, const Ending& ending);
// Of ranks 0, 1, ...: equal endings together, "ranks 0-2, 4 exited with 0; rank 3 was killed by signal 9 (Killed)".
std::string describe_all(std::span<const Ending> endings);
// "ranks 0-2, 4 still run and are ended"
std::string describe_still(std::span<const int> ranks);
// "ranks 0, 1 are stopped, and no other rank is left; 15 s until they are ended"
std::string describe_stopped(std::span<const int> ranks, double seconds);
// "ranks 0-2, 4 still run, without which others have finished; they have 15 s to end by themselves"
std::string describe_given_up(std::span<const int> ranks, double seconds);

}  // namespace tacit::cli
