// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "core/mutex.h"
#include "tacit/runlog/events.h"

namespace tacit {

class PlainFile;

// Writes events to a JSON-lines file. Every line is with the system when write() returns, so that a process which dies
// leaves a readable log, and on the disk when sync() does. A line is in the file whole or not at all.
//
// Threads  any.
// Errors   InvalidConfig where the file cannot be made or is a link to another one; Error where a line cannot be
//          written, for example because the disk is full: later ones may be, once there is room again.
class RunLogWriter {
 public:
  enum class Begin {
    kAnew,
    kWhereItEnds,  // of the log of a rank that was lost, which may have died in the middle of a line
  };
  explicit RunLogWriter(const std::filesystem::path& file, Begin begin = Begin::kAnew);
  ~RunLogWriter();

  template <class Event>
  void write(const Event& event) {
    write_line(to_json_line(event));
  }
  void sync();
  bool empty() const;  // nothing has been written, by nobody

 private:
  void write_line(const std::string& line);

  mutable Mutex mutex_;
  const std::unique_ptr<PlainFile> file_ TACIT_GUARDED_BY(mutex_);
};

// Writes the whole file or nothing; it is on the disk when this returns. Throws Error.
void write_summary(const Summary& summary, const std::filesystem::path& file);

}  // namespace tacit
