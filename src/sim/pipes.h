// SPDX-License-Identifier: MIT
// What faults hold back on its way from rank to rank.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

#include "sim/fault_plan.h"
#include "sim/scheduler.h"

namespace tacit::sim {

// Ordering  per sender, receiver and way: whatever is held back holds back what comes behind it.
// Threads   actors and callbacks of the scheduler, which must outlive it, as the plan must.
class Pipes {
 public:
  Pipes(Scheduler& scheduler, FaultPlan& plan) : scheduler_(scheduler), plan_(plan) {}

  // Calls fn once the sender's bytes can leave.
  void leave(int from, int to, std::function<void()> fn) {
    pass({from, to, Way::kLeave}, scheduler_.now(), std::move(fn));
  }
  // Calls fn once the receiver can read them, so much later than it could have.
  void arrive(int from, int to, Seconds delay, std::function<void()> fn) {
    pass({from, to, Way::kArrive}, scheduler_.now() + delay, std::move(fn));
  }
  // The same for what takes no time on the network.
  void control(int from, int to, Seconds delay, std::function<void()> fn) {
    pass({from, to, Way::kControl}, scheduler_.now() + delay, std::move(fn));
  }

 private:
  enum class Way { kLeave, kArrive, kControl };
  static constexpr std::uint64_t kWays = 3;
  struct End {
    int from;
    int to;
    Way way;
  };
  struct Held {
    Deadline earliest;
    std::function<void()> fn;
  };
  struct Queue {
    bool busy = false;  // its first is being called, or waits for its time
    std::deque<Held> held{};
  };

  void pass(const End& end, Deadline earliest, std::function<void()> fn);
  void advance(const End& end, Queue& queue);
  Deadline ready(const End& end, const Held& held) const;

  Scheduler& scheduler_;
  FaultPlan& plan_;
  std::unordered_map<std::uint64_t, Queue> queues_;  // only looked up; its elements stay where they are
};

}  // namespace tacit::sim
