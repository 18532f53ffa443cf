// SPDX-License-Identifier: MIT
#include "sim/actors.h"

#include <exception>
#include <utility>

#include "tacit/core/error.h"

namespace tacit::sim {
namespace {

constexpr Reason kChannel{.kind = Reason::Kind::kChannel};

class SimMonitor final : public Monitor {
 public:
  explicit SimMonitor(Scheduler& scheduler) : scheduler_(scheduler) {}

  void lock() override {
    while (held_) scheduler_.sleep(entry_, kChannel);
    held_ = true;
  }
  void unlock() override {
    held_ = false;
    scheduler_.wake(entry_);
  }
  void wait() override { wait_until(kNever); }
  bool wait_until(Deadline deadline) override {
    unlock();
    scheduler_.sleep(changed_, kChannel, deadline);
    const bool doomed = scheduler_.doomed();
    lock();
    if (doomed) throw Error(scheduler_.deadlock());
    return scheduler_.now() < deadline;
  }
  void notify_all() override { scheduler_.wake(changed_); }

 private:
  Scheduler& scheduler_;
  bool held_ = false;
  Gate entry_;
  Gate changed_;
};

class SimTask final : public Task {
 public:
  SimTask(Scheduler& scheduler, const std::string& name, int rank, std::function<void()> body)
      : scheduler_(scheduler), name_(name) {
    scheduler_.spawn(name, rank, false, [this, body = std::move(body)] {
      try {
        body();
      } catch (...) {
        error_ = std::current_exception();
      }
      ended_ = true;
      scheduler_.wake(done_);
    });
  }
  SimTask(const SimTask&) = delete;
  SimTask& operator=(const SimTask&) = delete;
  ~SimTask() override { wait(); }

  void join() override {
    wait();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void wait() {
    while (!ended_) scheduler_.sleep(done_, {.kind = Reason::Kind::kTask, .task = name_.c_str()});
  }

  Scheduler& scheduler_;
  const std::string name_;
  Gate done_;
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace

void SimClock::sleep(Seconds duration) {
  const Deadline end = scheduler_.now() + duration;
  Gate alone;
  while (scheduler_.now() < end) {
    scheduler_.sleep(alone, {.kind = Reason::Kind::kTime}, end);
    alive_();
  }
}

std::unique_ptr<Task> SimTasks::spawn(const std::string& name, std::function<void()> body) {
  return std::make_unique<SimTask>(scheduler_, name, rank_, std::move(body));
}

std::unique_ptr<Monitor> SimTasks::make_monitor() { return std::make_unique<SimMonitor>(scheduler_); }

}  // namespace tacit::sim
