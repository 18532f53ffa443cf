// SPDX-License-Identifier: MIT
// Takes what two ranks of one machine say to each other off their socket, onto a ring each way (ring.h). All of it goes
// there, messages and control alike, so that its order stays what it was. The socket carries bells, and tells of a death.
//
// The lower rank makes the memory once the higher one has proven that it can read the lower one's, and says under which
// descriptor. The higher one opens it by way of /proc, which needs the same leave of the kernel, and answers kSwitch: the
// last of its frames on the socket. So does then the lower one. Where the one cannot make it, or the other not open it,
// all stays as it was, and that rank says so.
#pragma once

#include <memory>
#include <string>

#include "transport/tcp/connection.h"
#include "transport/tcp/ring_memory.h"

namespace tacit {

// Threads  the connection's reader.
class Shortcut {
 public:
  // No rings are made where they would have 0 bytes.
  Shortcut(Connection& connection, bool lower, std::size_t bytes)
      : connection_(connection), lower_(lower), bytes_(bytes) {}

  // The peer has proven that it can read our memory. Says why there are no rings, where there should be.
  std::string propose();
  // The peer has proposed rings; none where they cannot be had. Throws BadFrame where that is not its turn.
  void on_rings(std::shared_ptr<RingMemory> rings);
  void on_switch();

 private:
  Connection& connection_;
  const bool lower_;
  const std::size_t bytes_;            // of each ring
  bool asked_ = false;                 // the higher rank's: it was
  bool reads_ = false;                 // the peer has left the socket
  std::shared_ptr<RingMemory> rings_;  // made or opened, and not yet in use both ways
};

}  // namespace tacit
