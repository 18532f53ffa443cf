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
#include "tacit/transport/endpoint.h"

namespace tacit {

// A message is sent when isend is called and is there when the network has carried payload and framing; a rank's
// messages to itself and those on the control lane take no time. The sender of a large message is done when it is there,
// that of a small one at once.
//
// Lifetime  one per process, because SimGrid has one engine; outlives its endpoints' requests.
// Threads   interrupt() from any; the rest on actors, run() and what follows it on the thread that made it.
class SimFabric {
 public:
  SimFabric(const Cluster& cluster, std::uint64_t seed, WaitLimits limits);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  int size() const;
  // Runs body(rank) on one actor per rank until the last has ended. body must not throw.
  void run(const std::function<void(int)>& body);

  Endpoint& endpoint(int rank);
  Tasks& tasks(int rank);

  // As InprocFabric.
  enum class Leave { kDone, kFailed };
  void leave(int rank, Leave how, const std::string& why);
  std::exception_ptr cause(int rank);
  void interrupt();

  // The rank has crashed, as the cluster file says. Its errors are no news.
  bool crashed(int rank) const;

  // For the trainer of a rank. Sleeps as long as its gradient of this step takes.
  void spend_compute(int rank, std::int64_t step);
  // Its next gradient began so much earlier, and takes so much less from then on.
  void grant_head_start(int rank, Seconds duration);
  // Around something that takes no virtual time and in which all ranks meet: afterwards each is as far ahead of the others
  // as it was before.
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
