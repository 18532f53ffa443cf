// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tacit/collectives/comm.h"
#include "tacit/core/error.h"

namespace tacit {

// Calls and posts to peers beside the trainer, one thing at a time, whenever this rank likes: it has a fork for itself,
// so that nobody's exchanges wait behind it.
//
// Threads   the trainer's task.
// Lifetime  made on every rank alike. The destructor waits for it: keep it after what it uses.
class Errand {
 public:
  explicit Errand(Comm& comm) : survives_(comm.survives()), beside_(comm.fork("errand")) {}

  bool out() const { return pending_ != nullptr; }
  bool back() const { return out() && pending_->done(); }
  // Whether it is back in step t, or was begun `lag` steps ago.
  bool due(std::int64_t t, std::int64_t lag) const { return back() || (out() && t - begun_ >= lag); }

  // t: the step, for due().
  void begin(std::function<void()> fn, std::int64_t t = 0) {
    begun_ = t;
    pending_ = beside_->start([fn = std::move(fn)](Collectives&) { fn(); });
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
  const bool survives_;
  const std::unique_ptr<Comm> beside_;
  std::unique_ptr<Pending> pending_;
  std::int64_t begun_ = 0;  // the step
};

}  // namespace tacit
