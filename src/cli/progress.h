// SPDX-License-Identifier: MIT
// What a person sees while a run goes on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/mutex.h"
#include "tacit/train/trainer.h"

namespace tacit::cli {

// "1:05", "2:00:09"
std::string minutes(double seconds);

// How far a run is.
struct ProgressNow {
  std::int64_t step = 0;
  std::int64_t total = 0;
  double loss = 0;
  std::optional<double> virtual_seconds{};
  double samples_per_second = 0;
  double seconds_left = 0;
};

// In one line: as much of it as there are columns for, and a bar if there are more.
std::string progress_line(const ProgressNow& now, std::size_t columns, bool with_bar);
std::string evaluation_line(const Evaluated& event, std::size_t columns);

// The share of its steps that a run has made, if this is a line of its progress.
std::optional<double> share_said_by(const std::string& line);

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

  void draw(const StepsDone& event) const;

  const Style style_;
  const Time time_;
  const std::int64_t total_;
  const std::int64_t samples_per_step_;
  const Clock::time_point start_ = Clock::now();
  Mutex mutex_;
  Clock::time_point last_drawn_ TACIT_GUARDED_BY(mutex_);
  std::int64_t next_line_ TACIT_GUARDED_BY(mutex_) = 0;  // the step from which on the next plain line is due
};

}  // namespace tacit::cli
