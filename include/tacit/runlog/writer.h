// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>

#include "tacit/core/mutex.h"
#include "tacit/runlog/events.h"

namespace tacit {

// Writes events to a JSON-lines file, which is made anew. Every line is on disk when write() returns, so that a run
// which dies leaves a readable log.
//
// Threads  any.
// Errors   InvalidConfig where the file cannot be made, Error where it can no longer be written.
class RunLogWriter {
 public:
  explicit RunLogWriter(const std::filesystem::path& file);

  template <class Event>
  void write(const Event& event) {
    write_line(to_json_line(event));
  }

 private:
  void write_line(const std::string& line);

  const std::filesystem::path path_;
  Mutex mutex_;
  std::ofstream file_ TACIT_GUARDED_BY(mutex_);
};

// Writes the whole file or nothing.
void write_summary(const Summary& summary, const std::filesystem::path& file);

}  // namespace tacit
