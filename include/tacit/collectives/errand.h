// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "tacit/collectives/comm.h"
#include "tacit/core/error.h"

namespace tacit {

// An exchange with one peer beside the trainer, one at a time. What is run may use call and post of any Comm.
//
// Threads   the trainer's task.
// Lifetime  the destructor waits for it: keep it after what it uses.
class Errand {
 public:
  bool out() const { return pending_ != nullptr; }
  bool back() const { return out() && pending_->done(); }

  void begin(Comm& comm, std::function<void()> fn) {
    survives_ = comm.survives();
    pending_ = comm.start([fn = std::move(fn)](Comm&) { fn(); });
  }
  // Waits for the call to end. False if none was under way, or if its peer was lost and the world goes on without it.
  bool end() {
    const std::unique_ptr<Pending> ended = std::move(pending_);
    try {
      if (ended) ended->wait();
      return ended != nullptr;
    } catch (const PeerLost&) {
      if (!survives_) throw;
      return false;
    }
  }

 private:
  std::unique_ptr<Pending> pending_;
  bool survives_ = false;
};

}  // namespace tacit
