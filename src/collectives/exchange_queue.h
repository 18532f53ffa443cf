// SPDX-License-Identifier: MIT
// The task behind Background: it runs exchanges in the order they were started.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tacit/collectives/background.h"
#include "tacit/core/channel.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

class TaskTally;  // transport/wait_tally.h

// Threads   start() from one task at a time.
// Lifetime  the destructor lets started exchanges end. endpoint and `with` must outlive it.
class ExchangeQueue {
 public:
  ExchangeQueue(Tasks& tasks, Endpoint& endpoint, const std::string& name, Collectives& with);
  ~ExchangeQueue();
  ExchangeQueue(const ExchangeQueue&) = delete;
  ExchangeQueue& operator=(const ExchangeQueue&) = delete;

  std::unique_ptr<Pending> start(std::function<void(Collectives&)> fn);
  std::unique_ptr<Pending> start_fed(std::function<void(Collectives&)> fn, std::shared_ptr<const bool> fed);

 private:
  class Job;
  class Handle;
  // Called before a destructor waits for peers: if an error is unwinding, the peers are told first.
  static void warn_peers(Endpoint& endpoint);

  Tasks& tasks_;
  Endpoint& endpoint_;
  Channel<std::shared_ptr<Job>> queue_;  // null ends the task
  std::atomic<int> outstanding_{0};      // started and not ended
  const std::shared_ptr<TaskTally> tally_;
  std::shared_ptr<const bool> fed_;  // the starting task's: of the newest exchange that is fed
  std::unique_ptr<Task> task_;
};

}  // namespace tacit
