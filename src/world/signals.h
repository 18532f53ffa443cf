// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <exception>
#include <string>
#include <thread>

#include "tacit/world/world.h"

namespace tacit {

// A pipe whose reader is gone and a limit on the size of files are errors of writing, and no end of the program.
void make_writing_fail_without_signals();

// While one lives, the first Ctrl-C and the first SIGTERM are remembered instead of ending the program; a second one of
// the same kind kills as usual. What another sender sends within a second of the first is the same wish, come by two
// ways: the end of a launcher reaches its ranks by the system and by the launcher's guard, that of a service by the
// system's manager and by the launcher. Who says it twice means it: a person at a terminal, however quick. One at a
// time. What the program had for these signals is put back at the end, unless one has come.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Threads  any.
  static bool asked();
  // What ended a run that failed with this error. Where a signal goes to every process, a peer may be gone before this
  // process has looked at its own: that is an interrupt and no loss.
  static std::exception_ptr cause(const std::exception_ptr& error);

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

// Turns such a signal into an interrupt of the world, which a signal handler may not do itself.
class SignalWatch {
 public:
  // Where the run has not ended a second after the signal, says `late` on stderr.
  explicit SignalWatch(World& world, std::string late = "");

 private:
  const StopSignals signals_;
  std::jthread thread_;  // last: it begins when the signals are caught and ends before they are let go
};

}  // namespace tacit
