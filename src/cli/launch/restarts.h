// SPDX-License-Identifier: MIT
// Decides which lost ranks are started again, and when.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/ending.h"

namespace tacit::cli {

// Lost ranks come back one at a time: the others wait until it is back or has ended. After a return that failed nobody
// is started for a second, after the next one for twice as long, and so on up to 30 seconds, until one is back.
//
// It knows no process and no clock: whoever does asks it.
class Restarts {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // What the launcher knows of those that would take a rank in.
  enum class Others {
    kTakeIn,     // one of them at least does
    kUnknown,    // none said so, but not all have said something
    kTakeNone,   // the program cannot
    kFinishing,  // one has ended well already
    kEnding,     // they are being ended
  };
  // What becomes of a rank that was lost.
  enum class Fate { kOff, kNow, kLater, kUsedUp, kNotTakenIn, kTooLate, kNoLoss };
  struct Start {
    int rank = 0;
    int number = 0;     // of the job's restarts, from 1
    bool said = false;  // was announced as kNow
  };

  explicit Restarts(int most) : most_(most) {}

  // A rank was lost that the others go on without.
  Fate lost(int rank, Others others, Time now);
  // A rank that was started again has ended before it was back.
  Fate failed(int rank, const Ending& how, Others others, Time now);
  // It takes part again. Whether it had been away.
  bool back(int rank);

  // Whom to start now, if anybody.
  std::optional<Start> next(Others others, Time now);
  // Those that waited for something that cannot be any more.
  std::vector<int> drop(Others others);

  bool returning(int rank) const { return returning_ == rank; }
  bool waits() const { return !waiting_.empty(); }
  Time not_before() const { return not_before_; }

  // What is said behind how the rank ended.
  std::string after_loss(Fate fate) const;
  std::string after_failure(Fate fate) const;
  // "is started again (2 of 20)"
  std::string describe_start(int number) const;
  // "is not started again, because the run is at its end"
  static std::string describe_drop(Others others);

 private:
  struct Waiting {
    int rank;
    bool said;
  };

  // kLater where nothing is against it.
  Fate judge(Others others) const;
  bool may_start(Others others, Time now) const;

  const int most_;
  int started_ = 0;
  std::deque<Waiting> waiting_;  // each has its restart for sure
  std::optional<int> returning_;
  std::chrono::seconds pause_{0};
  Time not_before_{};
};

}  // namespace tacit::cli
