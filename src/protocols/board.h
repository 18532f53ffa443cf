// SPDX-License-Identifier: MIT
// A place where a rank publishes its newest vector. Peers read it without waiting for the rank's trainer.
#pragma once

#include <memory>

#include "core/snapshot.h"
#include "tacit/collectives/calls.h"

namespace tacit {

// Made on every rank alike. A reading is one whole version, never half of two.
//
// Cost      publish() is one copy; a reading sends one vector and 32 bytes.
// Lifetime  close() comes before the end and after the last reading of any rank (a barrier says so); calls and tasks
//           outlive it.
// Threads   publish() by one task at a time, the rest by any of the rank.
class Board {
 public:
  // x is the first version.
  Board(Calls& calls, Tasks& tasks, FloatView x) : newest_(tasks, x) {
    newest_.publish(x, -1);
    service_ = calls.serve([this](const Call&, const std::unique_ptr<Answer>& answer) {
      const std::shared_ptr<const Snapshot::Copy> newest = newest_.latest();
      answer->send(bytes_of(newest->x.view()), newest);
    });
  }

  void publish(ConstFloatView x, std::int64_t version) { newest_.publish(x, version); }
  std::shared_ptr<const Snapshot::Copy> latest() const { return newest_.latest(); }

  // Reads the newest vector of a peer; the peer's trainer takes no part. Errors: as Service::call.
  void read(int peer, FloatView into) { service_->call(peer, {}, bytes_of(into)); }

  void close() { service_->stop(); }

 private:
  Snapshot newest_;
  std::unique_ptr<Service> service_;  // last: it stops before what it uses goes away
};

}  // namespace tacit
