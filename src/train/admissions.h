// SPDX-License-Identifier: MIT
// How a rank that was lost comes into a run that goes on. It asks its sponsor, the rank that has been here longest. The
// sponsor's trainer looks between two steps: it makes all that live count on the newcomer from there on, and lends it what
// it needs to be there too. The others compute on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tacit/core/state.h"
#include "tacit/world/agreement.h"
#include "tacit/world/world.h"

namespace tacit {

// Where the world takes nobody back nothing is made and nothing happens.
//
// Threads   the trainer's; a service of the control lane takes the requests.
// Lifetime  made on every rank alike, before the first collective.
class Admissions {
 public:
  // `settings` are what all ranks must have alike.
  Admissions(Process& me, std::vector<Setting> settings);
  ~Admissions();
  Admissions(const Admissions&) = delete;
  Admissions& operator=(const Admissions&) = delete;

  // By a rank that has come back: returns what the sponsor lends, once all that live count on this rank. Throws PeerLost,
  // after which the rank may come back again, and InvalidConfig where it differs from the sponsor.
  std::vector<std::byte> ask();

  // By the others, between two steps.
  using Lend = std::function<void(const Process::Place& place, StateWriter& state)>;
  void look(const Lend& lend);

 private:
  class Desk;
  Process& me_;
  const std::unique_ptr<Desk> desk_;  // null where nobody comes back
};

}  // namespace tacit
