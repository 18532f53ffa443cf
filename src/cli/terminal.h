// SPDX-License-Identifier: MIT
// What this program's output goes to: how wide it is, and the lines on it that are drawn again and again.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/mutex.h"

namespace tacit::cli {

// Columns that a line on this descriptor may have, as they are now: a terminal may be resized. COLUMNS says it where
// the terminal does not, and for files and pipes; without it these are 80 and any number.
std::size_t columns_of(int descriptor);
// The same of stdout for text that is read like a page: 80 in files and pipes.
std::size_t page_columns();

// Lines at the bottom of the terminal that stderr is, drawn over by those that follow them. Where it is no terminal
// nothing is drawn. There is one such place in a process, as there is one terminal.
//
// Threads  any.
class LiveLines {
 public:
  static LiveLines& of_stderr();

  // Whether they are seen.
  bool seen() const { return terminal_; }
  // Columns for each of them. One is left free: a line that fills the last is taken by some terminals to go on.
  std::size_t room() const;

  void show(const std::vector<std::string>& lines);  // in place of those that are there
  void clear();
  void leave();  // they stay; what follows begins below them
  // A line that stays, above them.
  void say(const std::string& line);
  // Does what writes to the terminal by itself, whole lines, above them.
  void aside(const std::function<void()>& writes);

 private:
  LiveLines();
  std::size_t rows() const TACIT_REQUIRES(mutex_);
  std::string erasing() const TACIT_REQUIRES(mutex_);
  std::string drawing() const TACIT_REQUIRES(mutex_);

  const bool terminal_;
  Mutex mutex_;
  std::vector<std::string> lines_ TACIT_GUARDED_BY(mutex_);
};

// Says what is being done, as long as it lives, to whoever looks at the terminal.
class Activity {
 public:
  Activity(bool quiet, const std::string& what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  void now(const std::string& what) const;
  // Nothing, until the next now(): before something else is written.
  void pause() const;

 private:
  const bool quiet_;
};

}  // namespace tacit::cli
