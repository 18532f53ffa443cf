// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/layout.h"
#include "cli/print_or_drop.h"

namespace tacit::cli {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kUsualRows = 24;
constexpr const char* kClearLine = "\x1b[K";

winsize size_of(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

std::size_t rows_of(int descriptor) {
  const std::size_t rows = size_of(descriptor).ws_row;
  return rows > 0 ? rows : kUsualRows;
}

// 0: it says nothing.
std::size_t wanted_columns() {
  const char* const text = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::size_t columns = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), columns);
  return columns;
}

}  // namespace

std::size_t columns_of(int descriptor) {
  if (const std::size_t columns = size_of(descriptor).ws_col; columns > 0) return columns;
  if (const std::size_t columns = wanted_columns(); columns > 0) return columns;
  return ::isatty(descriptor) == 1 ? kUsualColumns : kAnyWidth;
}

std::size_t page_columns() {
  const std::size_t columns = columns_of(STDOUT_FILENO);
  return columns == kAnyWidth ? kUsualColumns : columns;
}

LiveLines& LiveLines::of_stderr() {
  static LiveLines lines;
  return lines;
}

LiveLines::LiveLines() : terminal_(::isatty(STDERR_FILENO) == 1) {}

std::size_t LiveLines::room() const {
  const std::size_t columns = columns_of(STDERR_FILENO);
  return columns == kAnyWidth ? columns : columns - 1;
}

// That they take now: a terminal that was made narrower has wrapped what stood on it.
std::size_t LiveLines::rows() const {
  const std::size_t columns = columns_of(STDERR_FILENO);
  std::size_t rows = 0;
  for (const std::string& line : lines_)
    rows += std::max<std::size_t>(1, (width_of(line) + columns - 1) / columns);
  return rows;
}

// Empty rows with the cursor where the first of them begins. Row by row: some terminals take it for a new page, and keep
// the old one, when all below is cleared at once.
std::string LiveLines::erasing() const {
  const std::string back = rows() > 1 ? fmt::format("\r\x1b[{}A", rows() - 1) : "\r";
  std::string text = back;
  for (std::size_t row = 0; row < rows(); ++row) text += (row > 0 ? "\n" : "") + std::string(kClearLine);
  return text + back;
}

std::string LiveLines::drawing() const {
  std::string text;
  for (const std::string& line : lines_) text += (text.empty() ? "" : "\n") + line;
  return text;
}

void LiveLines::show(const std::vector<std::string>& lines) {
  if (!terminal_) return;
  const MutexLock lock(mutex_);
  const std::string start = erasing();
  const std::size_t most = std::max<std::size_t>(rows_of(STDERR_FILENO), 2) - 1;
  lines_.assign(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), most)));
  for (std::string& line : lines_) line = cut(line, room());
  print_or_drop(stderr, "{}{}", start, drawing());
}

void LiveLines::clear() {
  const MutexLock lock(mutex_);
  if (!lines_.empty()) print_or_drop(stderr, "{}", erasing());
  lines_.clear();
}

void LiveLines::leave() {
  const MutexLock lock(mutex_);
  if (!lines_.empty()) print_or_drop(stderr, "\n");
  lines_.clear();
}

void LiveLines::say(const std::string& line) {
  aside([&] { print_or_drop(stderr, "{}\n", line); });
}

void LiveLines::aside(const std::function<void()>& writes) {
  const MutexLock lock(mutex_);
  if (!lines_.empty()) print_or_drop(stderr, "{}", erasing());
  writes();
  for (std::string& line : lines_) line = cut(line, room());  // it may have become narrower
  if (!lines_.empty()) print_or_drop(stderr, "{}", drawing());
}

Activity::Activity(bool quiet, const std::string& what) : quiet_(quiet) { now(what); }

Activity::~Activity() { pause(); }

void Activity::now(const std::string& what) const {
  if (!quiet_) LiveLines::of_stderr().show({what});
}

void Activity::pause() const {
  if (!quiet_) LiveLines::of_stderr().clear();
}

}  // namespace tacit::cli
