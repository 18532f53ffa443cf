// SPDX-License-Identifier: MIT
// One rank's way into a world whose ranks are processes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "tacit/transport/endpoint.h"

namespace tacit {

// How a rank ends.
struct Departure {
  bool failed = false;
  std::string why;         // for the peers: "its program ended", "the loss is not a number"
  int culprit = kAnyRank;  // failed because this rank was lost: peers name it, and not the messenger
};

// Lifetime  outlives its endpoint's requests. Threads: any.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual Endpoint& endpoint() = 0;

  // Learns what has come about this rank itself; Endpoint::here says whether the others have given it up.
  virtual void catch_up() {}
  // This rank sends and receives no more. What it had sent still arrives; whoever waits for more than that gets
  // PeerLost with this reason. Only a failure wakes those who wait for kAnyRank. The first departure counts.
  virtual void leave(const Departure& how) = 0;
  // Where ranks that were lost may come back to; 0: nowhere.
  virtual std::uint16_t door() const { return 0; }
  // What Endpoint::fail was given, or null.
  virtual std::exception_ptr cause() = 0;
  // Every wait of this rank that would block throws Interrupted, now and from now on.
  virtual void interrupt() = 0;
};

}  // namespace tacit
