// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/print_or_drop.h"

namespace tacit::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr int kPlainLines = 10;  // per run
constexpr std::chrono::milliseconds kRedraw{100};

std::string bar(double share) {
  const int full = static_cast<int>(share * kBarWidth);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - full), '.') + "]";
}

std::string minutes(double seconds) {
  const auto s = static_cast<long>(std::lround(std::max(0.0, seconds)));
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

Progress::Style Progress::style_for_stderr(bool quiet) {
  if (quiet) return Style::kQuiet;
  return isatty(STDERR_FILENO) == 1 ? Style::kLive : Style::kLines;
}

Progress::Progress(Style style, Time time, std::int64_t total_steps, std::int64_t samples_per_step)
    : style_(style), time_(time), total_(total_steps), samples_per_step_(samples_per_step) {}

void Progress::on_steps(const StepsDone& event) {
  if (style_ == Style::kQuiet || event.rank != 0) return;
  const MutexLock lock(mutex_);
  const bool last = event.step == total_;
  if (style_ == Style::kLines) {
    if (!last && event.step < next_line_) return;
    next_line_ += std::max<std::int64_t>(1, total_ / kPlainLines);
  } else {
    const auto now = Clock::now();
    if (!last && now - last_drawn_ < kRedraw) return;
    last_drawn_ = now;
  }
  draw(event);
}

void Progress::draw(const StepsDone& event) {
  const double share = static_cast<double>(event.step) / static_cast<double>(total_);
  const double rate = static_cast<double>(event.step * samples_per_step_) / std::max(event.seconds, 1e-9);
  const std::chrono::duration<double> passed = Clock::now() - start_;
  const double real = time_ == Time::kVirtual ? passed.count() : event.seconds;
  const std::string clock = time_ == Time::kVirtual ? fmt::format("{:.2f} s virtual  ", event.seconds) : "";
  const std::string text = fmt::format("step {}/{}  loss {:.4f}  {}{:.0f} samples/s  {} left", event.step,
                                       total_, event.loss, clock, rate, minutes(real * (1 / share - 1)));
  if (style_ == Style::kLive) {
    print_or_drop(stderr, "\r\x1b[K{} {:3.0f} %  {}", bar(share), 100 * share, text);
    std::fflush(stderr);
    live_line_open_ = true;
  } else {
    print_or_drop(stderr, "{:3.0f} %  {}\n", 100 * share, text);
  }
}

void Progress::say(const std::string& line) {
  if (live_line_open_) print_or_drop(stderr, "\r\x1b[K");
  live_line_open_ = false;
  print_or_drop(stderr, "{}\n", line);
}

void Progress::on_evaluation(const Evaluated& event) {
  if (style_ == Style::kQuiet) return;
  const MutexLock lock(mutex_);
  say(fmt::format("epoch {:.2f}  step {}  test loss {:.4f}  test accuracy {:.2f} %", event.epoch, event.step,
                  event.loss, 100 * event.accuracy));
}

void Progress::close() {
  const MutexLock lock(mutex_);
  if (live_line_open_) print_or_drop(stderr, "\n");
  live_line_open_ = false;
}

}  // namespace tacit::cli
