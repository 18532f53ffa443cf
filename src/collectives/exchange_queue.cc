// SPDX-License-Identifier: MIT
#include "collectives/exchange_queue.h"

#include <exception>
#include <utility>

#include "tacit/core/error.h"
#include "transport/wait_tally.h"

namespace tacit {

// Owned by the queue while it waits or runs and by the caller's Pending until that is dropped.
class ExchangeQueue::Job {
 public:
  Job(Tasks& tasks, std::function<void(Collectives&)> fn) : fn_(std::move(fn)), result_(tasks) {}

  void run(Collectives& with) {
    std::exception_ptr error;
    try {
      fn_(with);
    } catch (...) {
      error = std::current_exception();
    }
    fn_ = nullptr;  // what it holds goes away here, before the trainer goes on
    result_.put(error);
  }
  bool done() {
    if (auto error = result_.try_get()) keep(*error);
    return ended_;
  }
  std::exception_ptr wait() {
    if (!ended_) keep(result_.get());
    return std::exchange(error_, nullptr);
  }

 private:
  void keep(std::exception_ptr error) {
    ended_ = true;
    error_ = std::move(error);
  }

  std::function<void(Collectives&)> fn_;
  Channel<std::exception_ptr> result_;
  bool ended_ = false;  // this and error_ belong to the caller's task
  std::exception_ptr error_;
};

class ExchangeQueue::Handle final : public Pending {
 public:
  Handle(std::shared_ptr<Job> job, Endpoint& endpoint, std::shared_ptr<const TaskTally> tally)
      : job_(std::move(job)), endpoint_(endpoint), tally_(std::move(tally)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override {
    if (!job_->done()) warn_peers(endpoint_);
    job_->wait();
  }
  void wait() override {
    if (const std::exception_ptr error = job_->done() ? job_->wait() : wait_behind())
      std::rethrow_exception(error);
  }
  bool done() override { return job_->done(); }

 private:
  std::exception_ptr wait_behind() {
    const BlockedBehind blocked(*tally_);
    return job_->wait();
  }

  std::shared_ptr<Job> job_;
  Endpoint& endpoint_;
  const std::shared_ptr<const TaskTally> tally_;
};

void ExchangeQueue::warn_peers(Endpoint& endpoint) {
  if (std::uncaught_exceptions() > 0) endpoint.fail(nullptr);
}

ExchangeQueue::ExchangeQueue(Tasks& tasks, Endpoint& endpoint, const std::string& name, Collectives& with)
    : tasks_(tasks), endpoint_(endpoint), queue_(tasks), tally_(std::make_shared<TaskTally>()) {
  task_ = tasks_.spawn("tacit-" + name, [this, &with] {
    tally_->publish();
    while (const std::shared_ptr<Job> job = queue_.get()) {
      job->run(with);
      outstanding_.fetch_sub(1);
    }
  });
}

ExchangeQueue::~ExchangeQueue() {
  if (outstanding_.load() > 0) warn_peers(endpoint_);
  queue_.put(nullptr);
  task_->join();
}

std::unique_ptr<Pending> ExchangeQueue::start(std::function<void(Collectives&)> fn) {
  if (fed_ && !*fed_)
    throw InvalidConfig(
        "part of a gradient has left already and waits for the step that sends the rest, and another "
        "exchange "
        "was to begin in between, which would wait for it: let a module take its step before a backward pass "
        "reaches another, or exchange gradients whole (bucket \"whole\")");
  auto job = std::make_shared<Job>(tasks_, std::move(fn));
  outstanding_.fetch_add(1);
  queue_.put(job);
  return std::make_unique<Handle>(std::move(job), endpoint_, tally_);
}

std::unique_ptr<Pending> ExchangeQueue::start_fed(std::function<void(Collectives&)> fn,
                                                  std::shared_ptr<const bool> fed) {
  auto pending = start(std::move(fn));
  fed_ = std::move(fed);
  return pending;
}

}  // namespace tacit
