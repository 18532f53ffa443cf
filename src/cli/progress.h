// SPDX-License-Identifier: MIT
// What a person sees while a run goes on.
#pragma once

#include <chrono>
#include <optional>

#include "tacit/core/mutex.h"
#include "tacit/train/trainer.h"

namespace tacit::cli {

// One line that is drawn again and again on a terminal; plain lines, a few per run, elsewhere. On stderr, so
// that stdout carries results alone.
//
// Threads  any.
class Progress {
 public:
  enum class Style { kQuiet, kLines, kLive };
  static Style style_for_stderr(bool quiet);

  // Whether an event's seconds are real or those of a simulated cluster.
  enum class Time { kReal, kVirtual };
  Progress(Style style, Time time, std::int64_t total_steps, std::int64_t samples_per_step);

  void on_steps(const StepsDone& event);
  void on_evaluation(const Evaluated& event);
  // Ends the live line, so that what follows starts on a line of its own.
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const StepsDone& event) TACIT_REQUIRES(mutex_);
  void say(const std::string& line) TACIT_REQUIRES(mutex_);

  const Style style_;
  const Time time_;
  const std::int64_t total_;
  const std::int64_t samples_per_step_;
  const Clock::time_point start_ = Clock::now();
  Mutex mutex_;
  Clock::time_point last_drawn_ TACIT_GUARDED_BY(mutex_);
  std::int64_t next_line_ TACIT_GUARDED_BY(mutex_) = 0;  // the step from which on the next plain line is due
  bool live_line_open_ TACIT_GUARDED_BY(mutex_) = false;
};

}  // namespace tacit::cli
