// SPDX-License-Identifier: MIT
// What strategies use to talk.
#pragma once

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
};

}  // namespace tacit
