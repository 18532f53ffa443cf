// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/layout.h"
#include "cli/terminal.h"

namespace tacit::cli {
namespace {

constexpr std::size_t kWidestBar = 24;
constexpr std::size_t kNarrowestBar = 8;
constexpr int kPlainLines = 10;  // per run
constexpr std::chrono::milliseconds kRedraw{100};

std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

}  // namespace

std::string minutes(double seconds) {
  const auto s = static_cast<long>(std::lround(std::clamp(seconds, 0.0, 1e9)));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string progress_line(const ProgressNow& now, std::size_t columns, bool with_bar) {
  const double share = std::clamp(
      static_cast<double>(now.step) / static_cast<double>(std::max<std::int64_t>(now.total, 1)), 0.0, 1.0);
  const std::string clock = now.virtual_seconds ? fmt::format("{:.2f} s virtual", *now.virtual_seconds) : "";
  // As wide from one line to the next, so that the same parts have room.
  const std::string total = std::to_string(now.total);
  const std::string line = joined({{fmt::format("{:3.0f} %", 100 * share), 3},
                                   {fmt::format("step {:>{}}/{}", now.step, total.size(), total), 6},
                                   {fmt::format("loss {:.4f}", now.loss), 4},
                                   {clock, 2},
                                   {fmt::format("{:>6.0f} samples/s", now.samples_per_second), 1},
                                   {minutes(now.seconds_left) + " left", 5}},
                                  columns);
  const std::size_t taken = width_of(line) + 3;  // its brackets and a space
  if (!with_bar || taken + kNarrowestBar > columns) return line;
  return bar(share, std::min(kWidestBar, columns - taken)) + " " + line;
}

std::string evaluation_line(const Evaluated& event, std::size_t columns) {
  return joined({{fmt::format("epoch {:.2f}", event.epoch), 3},
                 {fmt::format("step {}", event.step), 1},
                 {fmt::format("test loss {:.4f}", event.loss), 2},
                 {fmt::format("test accuracy {:.2f} %", 100 * event.accuracy), 4}},
                columns);
}

std::optional<double> share_said_by(const std::string& line) {
  constexpr std::string_view kWord = "step ";  // the part that has room on every terminal
  const std::size_t at = line.find(kWord);
  if (at == std::string::npos) return std::nullopt;
  const char* const end = line.data() + line.size();
  const char* from = line.data() + std::min(line.find_first_not_of(' ', at + kWord.size()), line.size());
  std::int64_t step = 0;
  std::int64_t total = 0;
  const auto [slash, error] = std::from_chars(from, end, step);
  if (error != std::errc{} || slash == end || *slash != '/') return std::nullopt;
  if (std::from_chars(slash + 1, end, total).ec != std::errc{} || total < 1) return std::nullopt;
  return static_cast<double>(step) / static_cast<double>(total);
}

Progress::Style Progress::style_for_stderr(bool quiet) {
  if (quiet) return Style::kQuiet;
  return LiveLines::of_stderr().seen() ? Style::kLive : Style::kLines;
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

void Progress::draw(const StepsDone& event) const {
  const std::chrono::duration<double> passed = Clock::now() - start_;
  const double real = time_ == Time::kVirtual ? passed.count() : event.seconds;
  ProgressNow now;
  now.step = event.step;
  now.total = total_;
  now.loss = event.loss;
  if (time_ == Time::kVirtual) now.virtual_seconds = event.seconds;
  now.samples_per_second =
      static_cast<double>(event.step * samples_per_step_) / std::max(event.seconds, 1e-9);
  now.seconds_left = real * (static_cast<double>(total_) / static_cast<double>(event.step) - 1);
  LiveLines& lines = LiveLines::of_stderr();
  if (style_ == Style::kLive)
    lines.show({progress_line(now, lines.room(), true)});
  else
    lines.say(progress_line(now, columns_of(STDERR_FILENO), false));
}

void Progress::on_evaluation(const Evaluated& event) {
  if (style_ == Style::kQuiet) return;
  LiveLines::of_stderr().say(evaluation_line(event, columns_of(STDERR_FILENO)));
}

void Progress::close() { LiveLines::of_stderr().leave(); }

}  // namespace tacit::cli
