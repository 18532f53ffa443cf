// SPDX-License-Identifier: MIT
#include "world/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

namespace tacit {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> g_pinged{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): by a signal

// A process that catches the signals of an end and does not end by itself. Killed by its id where the test ends first.
class Stubborn {
 public:
  Stubborn() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    pid_ = fork();
    if (pid_ == 0) live();
    close(ends_[1]);
    EXPECT_TRUE(says('c'));
  }
  ~Stubborn() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      end();
    }
    close(ends_[0]);
  }
  Stubborn(const Stubborn&) = delete;
  Stubborn& operator=(const Stubborn&) = delete;

  void get(int number) const { ::kill(pid_, number); }
  // The same from a process of its own.
  void get_from_another(int number) const {
    const pid_t sender = fork();
    if (sender == 0) {
      ::kill(pid_, number);
      _exit(0);
    }
    waitpid(sender, nullptr, 0);
  }
  bool was_asked() const { return says('a'); }
  // Whether it does when it has handled all that was sent before.
  bool lives() const {
    ::kill(pid_, SIGRTMIN);
    return says('p');
  }
  // The signal that ended it; 0: none.
  int end() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  [[noreturn]] void live() const {
    const StopSignals signals;
    struct sigaction ping {};
    ping.sa_handler = [](int) { g_pinged = true; };
    sigaction(SIGRTMIN, &ping, nullptr);
    say('c');
    for (bool said = false;; usleep(1000)) {
      if (StopSignals::asked() && !said) say('a');
      said = StopSignals::asked();
      if (g_pinged.exchange(false)) say('p');
    }
  }
  void say(char word) const {  // by the process itself
    if (write(ends_[1], &word, 1) != 1) _exit(1);
  }
  bool says(char word) const {
    char got = 0;
    return read(ends_[0], &got, 1) == 1 && got == word;
  }

  std::array<int, 2> ends_{};
  pid_t pid_ = -1;
};

TEST(StopSignals, TheFirstAsksAndASecondOfTheSameSenderKillsHoweverSoon) {
  for (const int number : {SIGINT, SIGTERM}) {
    Stubborn process;
    process.get(number);
    EXPECT_TRUE(process.was_asked());
    EXPECT_TRUE(process.lives());
    process.get(number);
    EXPECT_EQ(process.end(), number);
  }
}

TEST(StopSignals, WhatTwoSendersSendAtOnceIsOneWish) {
  for (;;) {
    Stubborn process;
    const auto start = Clock::now();
    process.get(SIGTERM);
    EXPECT_TRUE(process.was_asked());
    process.get_from_another(SIGTERM);
    const bool lives = process.lives();
    if (Clock::now() - start > std::chrono::milliseconds(900)) continue;  // a busy machine: once more
    EXPECT_TRUE(lives);
    process.get(SIGTERM);
    EXPECT_EQ(process.end(), SIGTERM);
    return;
  }
}

TEST(StopSignals, EachKindHasItsFirst) {
  Stubborn process;
  process.get(SIGINT);
  EXPECT_TRUE(process.was_asked());
  process.get(SIGTERM);
  EXPECT_TRUE(process.lives());
  process.get(SIGINT);
  EXPECT_EQ(process.end(), SIGINT);
}

}  // namespace
}  // namespace tacit
