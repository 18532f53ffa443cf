// SPDX-License-Identifier: MIT
#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "core/mutex.h"
#include "runlog/writer.h"
#include "tacit/core/error.h"
#include "tacit/runlog/events.h"

namespace tacit::cli {

// What a run leaves in the folder of --out: run.jsonl while it goes on and summary.json at its end. One rank writes it:
// rank 0, or the lowest that lives once rank 0 is lost. A log that cannot be written is warned of once; the run goes on.
//
// Threads  any.
class Account {
 public:
  // `out` is empty: there is none, and nothing below does anything.
  Account(std::filesystem::path out, RunStarted started);

  // Throws InvalidConfig where the folder has the account of another run, ended or not.
  static void refuse_used(const std::filesystem::path& out);

  // Makes the files of a run anew; an older summary goes, so that it never stands beside another run's log. Throws
  // InvalidConfig.
  void begin();
  // For a run that goes on from a checkpoint: what its log has stays, where there is one.
  void go_on();
  // Goes on with what a rank had begun that was lost since; where its disk is not this one's, with a log that has the
  // beginning of the run and no more. Does nothing where this rank writes already, or where another has ended it.
  void take_over();
  // Whether some rank has written how this run ended.
  bool has_summary() const;

  // By the rank that writes; from others, nothing happens.
  template <class Event>
  void write(const Event& event) {
    const MutexLock lock(mutex_);
    if (log_) attempt([&] { log_->write(event); });
  }
  void write(const RankLost& event);  // also onto the disk
  // The last line of the log and summary.json, both on the disk when it returns. Throws Error where there is no
  // summary.json then.
  void finish(const Summary& summary);

 private:
  static constexpr const char* kLog = "run.jsonl";
  static constexpr const char* kSummary = "summary.json";

  std::filesystem::path log_file() const { return out_ / kLog; }
  std::filesystem::path summary_file() const { return out_ / kSummary; }
  void open(RunLogWriter::Begin begin) TACIT_REQUIRES(mutex_);
  template <class Write>
  void attempt(const Write& write) TACIT_REQUIRES(mutex_) {
    try {
      write();
    } catch (const Error& error) {
      if (!std::exchange(warned_, true))
        spdlog::warn("{}; the run goes on, and its log lacks lines from here on", error.what());
    }
  }

  const std::filesystem::path out_;
  const RunStarted started_;
  Mutex mutex_;
  std::unique_ptr<RunLogWriter> log_ TACIT_GUARDED_BY(mutex_);
  bool warned_ TACIT_GUARDED_BY(mutex_) = false;
};

}  // namespace tacit::cli
