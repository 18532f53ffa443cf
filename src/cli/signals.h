// SPDX-License-Identifier: MIT
#pragma once

#include <thread>

#include "tacit/world/world.h"

namespace tacit::cli {

// A pipe whose reader is gone and a limit on the size of files are errors of writing, and no end of the program.
void make_writing_fail_without_signals();

// While one lives, the first Ctrl-C and the first SIGTERM are remembered instead of ending the program; a second one of
// the same kind kills as usual. What another sender sends within a second of the first is the same wish, come by two
// ways: the end of a launcher reaches its ranks by the system and by the launcher's guard, that of a service by the
// system's manager and by the launcher. Who says it twice means it: a person at a terminal, however quick. One at a
// time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Threads  any.
  static bool asked();
};

// Turns such a signal into an interrupt of the world, which a signal handler may not do itself.
class SignalWatch {
 public:
  explicit SignalWatch(World& world);

 private:
  const StopSignals signals_;
  std::jthread thread_;  // last: it begins when the signals are caught and ends before they are let go
};

}  // namespace tacit::cli
