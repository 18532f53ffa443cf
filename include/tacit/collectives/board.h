// SPDX-License-Identifier: MIT
// A place where a rank publishes its newest vector. Peers read it without waiting for the rank's trainer.
#pragma once

#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/snapshot.h"

namespace tacit {

// Made on every rank alike. A reading is one whole version, never half of two.
//
// Cost      publish() is one copy; a reading sends one vector and 32 bytes.
// Lifetime  close() comes before the end and after the last reading of any rank (a barrier says so); comm and tasks
//           outlive it.
// Threads   publish() by one task at a time, the rest by any of the rank.
class Board {
 public:
  // `service` is a number that all ranks agree on. x is the first version.
  Board(Comm& comm, Tasks& tasks, std::uint32_t service, FloatView x)
      : comm_(comm), service_(service), newest_(tasks, x) {
    newest_.publish(x, -1);
    agent_ = comm.serve(service, [this](const Call&, const std::unique_ptr<Answer>& answer) {
      answer->send(bytes_of(newest_.latest()->x.view()));
    });
  }

  void publish(ConstFloatView x, std::int64_t version) { newest_.publish(x, version); }
  std::shared_ptr<const Snapshot::Copy> latest() const { return newest_.latest(); }

  // Reads the newest vector of a peer; the peer's trainer takes no part. Errors: as Comm::call.
  void read(int peer, FloatView into) {
    comm_.call(peer, service_, {comm_.rank(), 0, 0, {}}, bytes_of(into));
  }

  void close() { agent_->stop(); }

 private:
  Comm& comm_;
  const std::uint32_t service_;
  Snapshot newest_;
  std::unique_ptr<Agent> agent_;  // last: it stops before what it uses goes away
};

}  // namespace tacit
