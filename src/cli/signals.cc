// SPDX-License-Identifier: MIT
#include "cli/signals.h"

#include <atomic>
#include <chrono>
#include <csignal>

namespace tacit::cli {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal has no other way in
std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int number) {
  g_stop.store(true);
  std::signal(number, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopSignals::asked() { return g_stop.load(); }

SignalWatch::SignalWatch(World& world)
    : thread_([&world](const std::stop_token& token) {
        while (!token.stop_requested() && !StopSignals::asked())
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (StopSignals::asked()) world.interrupt();
      }) {}

}  // namespace tacit::cli
