// SPDX-License-Identifier: MIT
// One task that runs exchanges in the order they were started.
#pragma once

#include <functional>
#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/channel.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

class TaskTally;  // transport/wait_tally.h

// Threads   start() from one task at a time.
// Lifetime  the destructor lets started exchanges end. endpoint and comm must outlive it.
class Background {
 public:
  Background(Tasks& tasks, Endpoint& endpoint, Comm& comm);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  std::unique_ptr<Pending> start(std::function<void(Comm&)> fn);

 private:
  class Job;
  class Handle;
  // Called before a destructor waits for peers: if an error is unwinding, the peers are told first.
  static void warn_peers(Endpoint& endpoint);

  Tasks& tasks_;
  Endpoint& endpoint_;
  Channel<std::shared_ptr<Job>> queue_;  // null ends the task
  const std::shared_ptr<TaskTally> tally_;
  std::unique_ptr<Task> task_;
};

}  // namespace tacit
