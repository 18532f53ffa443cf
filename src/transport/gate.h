// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "tacit/core/clock.h"
#include "transport/spin_mutex.h"

namespace tacit {

// Where the tasks of one rank wait for a condition on atomics: first spinning, then yielding, then asleep.
// Spinning meets a peer on another core within a microsecond; yielding lets a peer that shares this core
// run; sleeping costs nothing when a peer computes for long.
//
// Protocol  a waker makes the condition true with a sequentially consistent store and then calls wake();
//           a sleeper announces itself before it looks again. One of the two therefore sees the other.
class Gate {
 public:
  // How often to look before sleeping.
  struct Patience {
    int spins = 0;
    int yields = 0;
  };

  // Looks as often as that, and returns done().
  template <class Done>
  bool look(const Done& done, Patience patience, Deadline deadline = kNever) {
    for (int i = 0; i < patience.spins; ++i) {
      if (done()) return true;
      spin_pause();
    }
    // On a busy machine a core comes back late.
    for (int i = 0; i < patience.yields && RealClock().now() < deadline; ++i) {
      if (done()) return true;
      sched_yield();
    }
    return done();
  }
  // The same, and then waits until done() or the deadline.
  template <class Done>
  bool wait_until(const Done& done, Patience patience, Deadline deadline) {
    return look(done, patience, deadline) || sleep_until(done, deadline);
  }

  void wake() {
    if (sleepers_.load() == 0) return;
    { const std::lock_guard lock(mutex_); }  // a sleeper between its look and its sleep gets there first
    changed_.notify_all();
  }

 private:
  template <class Done>
  bool sleep_until(const Done& done, Deadline deadline) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    const bool ended = changed_.wait_until(lock, RealClock::point(deadline), done);
    sleepers_.fetch_sub(1);
    return ended;
  }

  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace tacit
