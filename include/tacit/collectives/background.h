// SPDX-License-Identifier: MIT
// Exchanges beside the trainer.
#pragma once

#include <functional>
#include <memory>

#include "tacit/collectives/collectives.h"

namespace tacit {

// An exchange in the background.
//
// Lifetime  the destructor waits for the exchange and swallows its error; call wait().
class Pending {
 public:
  virtual ~Pending() = default;
  virtual void wait() = 0;  // rethrows what the exchange threw
  virtual bool done() = 0;
};

class Background {
 public:
  virtual ~Background() = default;
  // Runs fn on a task of this rank, with Collectives on a lane of their own. Exchanges are short, run one after the
  // other in the order in which they were started, and every rank starts the same ones in the same order. What is long,
  // or each rank's own affair, has a Comm::fork for itself.
  virtual std::unique_ptr<Pending> start(std::function<void(Collectives&)> fn) = 0;
  // The same for an exchange that waits for more from the task that started it, until that has set `*fed`. Nothing else may
  // be started before: it would wait for this one, and whoever waits for it feeds nobody. Throws InvalidConfig.
  virtual std::unique_ptr<Pending> start_fed(std::function<void(Collectives&)> fn,
                                             std::shared_ptr<const bool> fed) = 0;
};

}  // namespace tacit
