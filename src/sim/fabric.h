// SPDX-License-Identifier: MIT
// Ranks as simulated machines: actors of one process, one running at a time, in virtual time.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "tacit/core/tasks.h"
#include "tacit/sim/cluster.h"
#include "transport/fabric.h"

namespace tacit {

struct SimOptions {
  WaitLimits limits;
  Seconds lost_after{10};  // as TcpOptions; where the cluster has cuts or stops
};

// A message is sent when isend is called and is there when the network has carried payload and framing; a rank's
// messages to itself and those on the control lane take no time. The sender of a large message is done when it is
// there, that of a small one at once.
//
// Lifetime  one per process, because SimGrid has one engine; outlives its endpoints' requests.
// Threads   interrupt() from any; the rest on actors, run() and what follows it on the thread that made it.
class SimFabric {
 public:
  SimFabric(const Cluster& cluster, std::uint64_t seed, const SimOptions& options);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  int size() const;
  // Runs body(rank) on one actor per rank until the last has ended. body must not throw.
  void run(const std::function<void(int)>& body);

  Endpoint& endpoint(int rank);
  Tasks& tasks(int rank);

  // As Fabric, for each rank.
  void leave(int rank, const Departure& how);
  std::exception_ptr cause(int rank);
  void interrupt();

  // The rank has crashed, as the cluster file says; its later errors are ignored.
  bool crashed(int rank) const;

  // Called by the trainer of a rank: sleeps for the duration of this step's gradient, or for a share of it.
  void spend_compute(int rank, std::int64_t step, double share);
  // Its next gradient began that much earlier, so that much less of it is left.
  void grant_head_start(int rank, Seconds duration);
  // Around something that all ranks do together and that costs no virtual time: afterwards each rank is as far ahead
  // of the others as before.
  void pause(int rank);
  void resume(int rank);

  // What a rank's trainer did with its time since it began its first gradient, in seconds. The rest it waited. Where it
  // waits for a task of its own, such as a background exchange, it communicates while what that task waits for is under
  // way.
  double computed(int rank) const;
  double communicated(int rank) const;  // waited while what it waited for was under way
  // Of every message and every gradient, with their times.
  std::uint64_t trace_hash() const;

  class Hub;

 private:
  const std::unique_ptr<Hub> hub_;
};

}  // namespace tacit
