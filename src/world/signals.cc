// SPDX-License-Identifier: MIT
#include "world/signals.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "core/thrown.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal has no other way in
std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// When the first one of each came, in milliseconds, times kProcesses, and who sent it; 0: not yet.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<long> g_interrupted{0};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<long> g_terminated{0};
static_assert(std::atomic<long>::is_always_lock_free);
constexpr long kProcesses = 1L << 22;  // no process has this number or a larger one
constexpr long kOneWish = 1000;
constexpr std::chrono::milliseconds kGlance{20};

long milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // which a handler may call
  return 1 + 1000 * static_cast<long>(now.tv_sec) + now.tv_nsec / 1'000'000;
}

// The process that sent it, or 0: the terminal.
long sender_of(const siginfo_t& about) { return about.si_code <= 0 ? about.si_pid : 0; }

void on_signal(int number, siginfo_t* about, void* /*context*/) {
  g_stop.store(true);
  std::atomic<long>& first = number == SIGINT ? g_interrupted : g_terminated;
  const long now = milliseconds_now();
  const long sender = sender_of(*about);
  long known = 0;
  if (first.compare_exchange_strong(known, now * kProcesses + sender)) return;
  if (sender != known % kProcesses && now - known / kProcesses < kOneWish) return;
  std::signal(number, SIG_DFL);
  std::raise(number);  // comes when this handler has returned
}

void catch_signal(int number, struct sigaction& before) {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(number, &action, &before);
}

void ignore(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void make_writing_fail_without_signals() {
  ignore(SIGPIPE);
  ignore(SIGXFSZ);
}

StopSignals::StopSignals() {
  catch_signal(SIGINT, interrupt_);
  catch_signal(SIGTERM, terminate_);
}

StopSignals::~StopSignals() {
  if (asked()) return;  // the program is about to end; a wish said twice must not be its end before
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

bool StopSignals::asked() { return g_stop.load(); }

std::exception_ptr StopSignals::cause(const std::exception_ptr& error) {
  if (!asked() || !is<PeerLost>(error)) return error;
  return std::make_exception_ptr(Interrupted(describe(error)));
}

SignalWatch::SignalWatch(World& world, std::string late)
    : thread_([&world, late = std::move(late)](const std::stop_token& token) {
        const auto wait_until = [&](const auto& condition) {
          while (!token.stop_requested() && !condition()) std::this_thread::sleep_for(kGlance);
        };
        wait_until(StopSignals::asked);
        if (!StopSignals::asked()) return;
        world.interrupt();
        if (late.empty()) return;
        const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(kOneWish);
        wait_until([&] { return std::chrono::steady_clock::now() > patience; });
        if (!token.stop_requested()) std::fputs(late.c_str(), stderr);
      }) {}

}  // namespace tacit
