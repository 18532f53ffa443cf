// SPDX-License-Identifier: MIT
// Ranks as threads of one process. A receiver reads the sender's buffer: a large message is copied once
// where a receive was posted for it and not at all where it is borrowed.
#pragma once

#include <memory>
#include <string>

#include "tacit/transport/endpoint.h"

namespace tacit {

// Lifetime  outlives its endpoints' requests; endpoints belong to the fabric.
// Threads   any.
class InprocFabric {
 public:
  explicit InprocFabric(int ranks, WaitLimits limits = {});
  ~InprocFabric();
  InprocFabric(const InprocFabric&) = delete;
  InprocFabric& operator=(const InprocFabric&) = delete;

  Endpoint& endpoint(int rank);

  // The rank sends and receives no more. What it had sent still arrives; whoever waits for more than that
  // gets PeerLost with this reason. Only a failure wakes those who wait for kAnyRank.
  enum class Leave { kDone, kFailed };
  void leave(int rank, Leave how, const std::string& why);
  // What a rank's Endpoint::fail was given, or null.
  std::exception_ptr cause(int rank);

  // Every wait that would block throws Interrupted, now and from now on, on every rank.
  void interrupt();

  class Hub;

 private:
  std::unique_ptr<Hub> hub_;
};

}  // namespace tacit
