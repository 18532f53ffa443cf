// SPDX-License-Identifier: MIT
// Agents and background exchanges: a task is a std::jthread in a real world and an actor in a simulated
// one. Tasks and trainers talk through Channel (channel.h) and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tacit/core/clock.h"

namespace tacit {

// Mutual exclusion with waiting, as the world provides it; Channel is built on it.
//
// Threads  any task of the rank that made it.
class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  // Both are called with the lock held and return with it held. They may wake without reason.
  virtual void wait() = 0;
  virtual bool wait_until(Deadline deadline) = 0;  // false: the deadline has passed
  virtual void notify_all() = 0;
};

// A running task.
//
// Errors    join() rethrows what the task threw, once.
// Lifetime  the destructor joins and swallows: end the task's reason to run before you drop it.
class Task {
 public:
  virtual ~Task() = default;
  virtual void join() = 0;
};

class Tasks {
 public:
  virtual ~Tasks() = default;
  // Throws InvalidConfig if the system gives the process no more threads.
  virtual std::unique_ptr<Task> spawn(const std::string& name, std::function<void()> body) = 0;
  virtual std::unique_ptr<Monitor> make_monitor() = 0;
  virtual Clock& clock() = 0;
};

// Tasks as threads of this process, on the machine's clock.
class ThreadTasks final : public Tasks {
 public:
  std::unique_ptr<Task> spawn(const std::string& name, std::function<void()> body) override;
  std::unique_ptr<Monitor> make_monitor() override;
  Clock& clock() override { return clock_; }

 private:
  RealClock clock_;
};

}  // namespace tacit
