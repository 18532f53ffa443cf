// SPDX-License-Identifier: MIT
// The memory of the process at the other end of a connection. Nothing of it is read before it is proven which process
// that is: a process number alone is a claim, with which one process could make us read another.
#pragma once

#include <memory>

#include "tacit/core/views.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/tcp/messages.h"
#include "transport/tcp/ring_memory.h"
#include "transport/tcp/stream.h"

namespace tacit {

// Threads  is() before the first read() and rings(); these from any.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  // Bytes that the peer shall write into its memory. Nobody can foresee them.
  virtual MemoryToken token() = 0;
  // Whether the peer is this process; asked once. No is no accusation: in a container both number differently.
  virtual bool is(std::uint32_t process) = 0;
  // False where the process is gone or the kernel does not allow it. `into` may be written to nevertheless.
  virtual bool read(std::uint64_t address, Bytes into) = 0;
  // Rings that the process made and has under this descriptor; none where it has something else there, or where we may
  // not have them, and why.
  virtual std::shared_ptr<RingMemory> rings(std::uint32_t descriptor, std::uint64_t bytes,
                                            std::string& why) = 0;
};

// None where messages go through the socket: without a job key, where the options say so, and between machines.
std::unique_ptr<PeerMemory> reach_memory(const TcpOptions& options, Stream& stream);

}  // namespace tacit
