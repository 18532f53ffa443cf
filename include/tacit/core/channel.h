// SPDX-License-Identifier: MIT
// The one way a trainer and its agents talk: a queue whose waiting is the world's.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tacit/core/tasks.h"

namespace tacit {

// Ordering  first in, first out.
// Threads   any task of the rank whose Tasks made it.
template <class T>
class Channel {
 public:
  explicit Channel(Tasks& tasks) : clock_(tasks.clock()), monitor_(tasks.make_monitor()) {}

  void put(T value) {
    const std::lock_guard lock(*monitor_);
    queue_.push_back(std::move(value));
    monitor_->notify_all();
  }

  T get() {
    const std::lock_guard lock(*monitor_);
    while (queue_.empty()) monitor_->wait();
    return pop();
  }

  std::optional<T> try_get() {
    const std::lock_guard lock(*monitor_);
    return queue_.empty() ? std::nullopt : std::optional<T>(pop());
  }

  // Nothing, if nothing came before the deadline.
  std::optional<T> get_until(Deadline deadline) {
    const std::lock_guard lock(*monitor_);
    while (queue_.empty()) {
      if (clock_.now() >= deadline) return std::nullopt;
      monitor_->wait_until(deadline);
    }
    return pop();
  }

 private:
  T pop() {
    T value = std::move(queue_.front());
    queue_.pop_front();
    return value;
  }

  Clock& clock_;
  std::unique_ptr<Monitor> monitor_;
  std::deque<T> queue_;  // guarded by monitor_
};

}  // namespace tacit
