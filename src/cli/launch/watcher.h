// SPDX-License-Identifier: MIT
// Who is told what becomes of processes, and who can reach them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/launch/ending.h"
#include "world/launcher_note.h"

namespace tacit::cli {

enum class Stream { kOut, kErr };

// Threads  all calls are made by the loop's.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void output(int id, Stream stream, std::string_view bytes) = 0;
  // What a rank said, about itself or another one, and the port where this one takes in ranks that come back.
  virtual void noted(int /*rank*/, LauncherNote /*note*/, std::uint16_t /*port*/) {}
  // The last call for this id but for notes about it, unless it is started again.
  virtual void ended(int id, const Ending& how) = 0;
  // Calls go_on, now or later, when more output may be given.
  virtual void when_room(Stream stream, std::function<void()> go_on) = 0;
};

// How a rank is started again, to return to a job that runs.
struct Return {
  int rank = 0;
  int number = 1;       // of the job's restarts
  std::string members;  // who takes it in: RANK@HOST:PORT,RANK@HOST:PORT
};

// The ranks of a job, wherever they run.
class RankHost {
 public:
  virtual ~RankHost() = default;
  // To every rank that lives, and to what it started.
  virtual void signal(int number) = 0;
  // To one.
  virtual void signal(int rank, int number) = 0;
  // A rank whose end the watcher was told of; it is told of the next one too. Throws InvalidConfig where it cannot
  // be started.
  virtual void start_again(const Return& how) = 0;
  // Whether every rank that lives is known to be stopped, as by SIGSTOP.
  virtual bool all_stopped() const { return false; }
  // The host that a rank was started on; empty for this machine.
  virtual std::string host_of(int /*rank*/) const { return ""; }
};

}  // namespace tacit::cli
