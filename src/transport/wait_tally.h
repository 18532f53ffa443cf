// SPDX-License-Identifier: MIT
// How long tasks of real worlds wait for peers: the time in which a task is blocked while nothing of what it waits for
// is under way yet. docs/worlds.md has what becomes of it.
#pragma once

#include <atomic>
#include <memory>

#include "core/mutex.h"
#include "tacit/core/clock.h"

namespace tacit {

// Threads  written by one task, read by any.
class WaitTally {
 public:
  // That of the calling thread.
  static const std::shared_ptr<WaitTally>& mine();

  // So far; a wait that goes on counts.
  Seconds total() const;
  void add(Seconds waited) { total_.store(total_.load(kRelaxed) + waited.count(), kRelaxed); }

 private:
  friend class Blocked;
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  std::atomic<double> total_{0};  // seconds
  std::atomic<double> since_{0};  // where a wait goes on
};

// While one lives, the calling thread is blocked.
class Blocked {
 public:
  Blocked();
  ~Blocked();
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

  // What it waited for was under way from then on; 0: before the wait began.
  void under_way_since(Seconds when) { under_way_ = when; }

 private:
  WaitTally& tally_;
  const Seconds since_;
  Seconds under_way_ = kNever;
};

// The tally of a task that another one waits for.
class TaskTally {
 public:
  void publish();  // by the task
  // Nothing before publish().
  Seconds total() const;

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const WaitTally> tally_ TACIT_GUARDED_BY(mutex_);
};

// While one lives, the calling thread is blocked until another task has done something: it waits while that one does.
class BlockedBehind {
 public:
  explicit BlockedBehind(const TaskTally& other);
  ~BlockedBehind();
  BlockedBehind(const BlockedBehind&) = delete;
  BlockedBehind& operator=(const BlockedBehind&) = delete;

 private:
  const TaskTally& other_;
  const Seconds since_;
  const Seconds before_;
};

}  // namespace tacit
