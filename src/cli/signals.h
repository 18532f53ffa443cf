// SPDX-License-Identifier: MIT
#pragma once

#include <thread>

#include "tacit/world/world.h"

namespace tacit::cli {

// While it lives, the first Ctrl-C or SIGTERM interrupts the world of this process, and the second one kills as usual.
// One at a time.
class SignalWatch {
 public:
  explicit SignalWatch(World& world);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  static bool stopped();  // such a signal has come

 private:
  std::jthread thread_;
};

}  // namespace tacit::cli
