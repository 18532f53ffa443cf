// SPDX-License-Identifier: MIT
// What strategies use to talk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tacit/collectives/background.h"
#include "tacit/collectives/calls.h"
#include "tacit/collectives/collectives.h"

namespace tacit {

// Threads  one task at a time, but for the calls and posts of its services.
class Comm : public Collectives, public Calls, public Background {
 public:
  // A Comm with lanes, services and a background task of its own, for whatever runs beside the trainer for long: nothing
  // that one does makes the other wait. Made on every rank alike; a world has Tag::kForks of them in its life. The name
  // is that of its background task. What it sends counts as training. Where ranks are lost, its collectives end with
  // PeerLost as those of Background::start do, also in worlds that go on.
  //
  // Lifetime  this one outlives it. Threads: made by the task of this one, used by one task at a time.
  virtual std::unique_ptr<Comm> fork(const std::string& name) = 0;

  // --- worlds that take back ranks that were lost (Process::takes_back); elsewhere these are Bugs

  // Whether this rank has come back and takes no part yet: its collectives are among itself alone, so that it can make
  // what the others have made.
  virtual bool outside() const { return false; }
  // By a rank that takes part, between two collectives: from the next one on all that live count on `peer`, which is back
  // with this entry() and outside. Returns when all know it, with what the peer's enter() needs.
  virtual std::int64_t admit(int peer, std::uint32_t entry);
  virtual void enter(std::int64_t number);
};

}  // namespace tacit
