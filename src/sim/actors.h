// SPDX-License-Identifier: MIT
// Clock, tasks and monitors of a rank in virtual time.
#pragma once

#include <memory>
#include <string>

#include "sim/scheduler.h"
#include "tacit/core/tasks.h"

namespace tacit::sim {

// Throws where the running actor must not go on: its machine has crashed.
using Alive = std::function<void()>;

class SimClock final : public Clock {
 public:
  // `memory`: bytes per second that a machine copies.
  SimClock(Scheduler& scheduler, double memory, Alive alive)
      : scheduler_(scheduler), memory_(memory), alive_(std::move(alive)) {}
  Seconds now() const override { return scheduler_.now(); }
  void sleep(Seconds duration) override;
  void work(double bytes) override {
    const Seconds time(bytes / memory_);
    if (scheduler_.is_trainer()) worked_ += time;
    sleep(time);
  }
  Seconds worked() const { return worked_; }  // by the trainer

 private:
  Scheduler& scheduler_;
  const double memory_;
  const Alive alive_;
  Seconds worked_{0};
};

// Lifetime  scheduler must outlive it and its tasks.
class SimTasks final : public Tasks {
 public:
  SimTasks(Scheduler& scheduler, int rank, double memory, Alive alive)
      : scheduler_(scheduler), rank_(rank), clock_(scheduler, memory, std::move(alive)) {}
  std::unique_ptr<Task> spawn(const std::string& name, std::function<void()> body) override;
  std::unique_ptr<Monitor> make_monitor() override;
  SimClock& clock() override { return clock_; }
  const SimClock& clock() const { return clock_; }

 private:
  Scheduler& scheduler_;
  const int rank_;
  SimClock clock_;
};

}  // namespace tacit::sim
