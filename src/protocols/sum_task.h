// SPDX-License-Identifier: MIT
// Numbered sums that a task of every rank runs while its trainer computes.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocols/activation.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"

namespace tacit {

class TaskTally;  // transport/wait_tally.h

// What a rank puts into sums and what its trainer gets out of them.
//
// Threads  the sums' task. The trainer may look between two sums, when it has had a reply and the task is idle.
class SumPart {
 public:
  virtual ~SumPart() = default;
  // The trainer has come with x to a sum that this rank has not run yet or, late, to one that it has run.
  virtual void give(FloatView x, bool late) = 0;
  // It has come with the beginning of x to a sum that this rank has not run yet. How that waits for the rest is the
  // part's affair, and all of x is there before the trainer asks for the sum.
  virtual void begin(FloatView) { throw Bug("a sum of whole vectors was begun with a part of one"); }
  // Runs a sum. Its trainer's x, where that waits for this sum: what it shall go on with.
  virtual void sum(Collectives& beside, std::int64_t number, std::optional<FloatView> waiting) = 0;
};

// Sums run in their order and one at a time on a rank, when they are activated, on a Comm of their own; nobody waits
// for a trainer. What is in them is the SumPart's affair.
//
// Threads   the trainer's task.
// Lifetime  close() comes before the end, after the last sum on every rank (a barrier says so); comm, tasks and part
//           outlive it.
// Errors    what a sum throws ends the task, and next() and between() rethrow it, once; afterwards nobody answers them.
class SumTask {
 public:
  // Made on every rank alike.
  SumTask(Comm& comm, Tasks& tasks, SumPart& part, Activation::Manner manner, const std::string& name);
  ~SumTask();
  SumTask(const SumTask&) = delete;
  SumTask& operator=(const SumTask&) = delete;

  // Gives x to a sum, one number after the other. Where this rank has run it already, returns as soon as the task has
  // run what was activated so far; otherwise waits until it is activated, by whom `by` says, and has run.
  void next(FloatView x, std::int64_t number, Activation::By by);
  // Says that x will be given to the next sum and is the task's until then, which is after next(): where this rank has
  // not run that sum, x counts as there, and the sum may begin. Does not wait.
  void begin(FloatView x, std::int64_t number, Activation::By by);
  // Does this on the task, between two sums, and waits for it.
  void between(const std::function<void()>& job);
  // What the next sums depend on, but for parts. load() says which sum is the next.
  void save(StateWriter& state) const { activation_.save(state); }
  void load(StateReader& state, std::int64_t next);
  void close();

 private:
  // What the task is asked for, by the trainer and by the agent.
  struct Order {
    enum class Kind { kRun, kBegin, kGive, kDo, kBeginAt, kStop } kind;
    std::int64_t number = 0;
    FloatView x{};  // kGive: the trainer's, who waits for the reply; kBegin: of both
    const std::function<void()>* job = nullptr;  // kDo: likewise
  };
  // What it tells the trainer.
  struct Reply {
    bool over = false;  // the trainer may go on; otherwise the sum that it came to has not been run yet
    std::exception_ptr error{};  // in place of an answer
  };

  Reply reply();
  Reply await(FloatView x, std::int64_t number, Activation::By by);
  void settle(const Reply& reply);
  void run(Collectives& beside);
  void obey(Collectives& beside, const Order& order);
  void take_in(const Order& given);
  void sum(Collectives& beside);

  SumPart& part_;
  Clock& clock_;
  Channel<Order> orders_;
  Channel<Reply> replies_;
  const std::shared_ptr<TaskTally> tally_;  // of the task
  struct Begun {
    bool any = false;      // x of the next sum has
    bool started = false;  // and this rank has activated that
  };
  Begun begun_;  // the trainer's

  // The task's.
  std::int64_t running_number_ = 0;  // the next sum to run
  std::optional<Order> waiting_;     // the trainer waits for this sum

  Activation activation_;  // after what it uses
  std::unique_ptr<Comm> beside_;
  std::unique_ptr<Pending> running_;  // likewise; run()
};

}  // namespace tacit
