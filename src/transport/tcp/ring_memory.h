// SPDX-License-Identifier: MIT
// The memory of two rings between two processes, one each way. It has no name: it goes with the last process that maps
// it, however that ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/tcp/ring.h"

namespace tacit {

class RingMemory : public std::enable_shared_from_this<RingMemory> {
 public:
  // With so many bytes each way, a power of two. None where this process cannot have it, and why.
  static std::shared_ptr<RingMemory> make(std::size_t bytes, std::string& why);
  // Takes over `descriptor`, which another process made by make(). None where it is something else, or could shrink: a
  // process that reads what is not there any more is ended by the kernel. errno says why.
  static std::shared_ptr<RingMemory> open(int descriptor, std::uint64_t bytes);

  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t bytes() const { return bytes_; }
  void close();                  // the descriptor; what is mapped stays
  RingPlace from_maker() const;  // what the process that made it writes
  RingPlace to_maker() const;

 private:
  RingMemory(int descriptor, std::byte* memory, std::size_t bytes)
      : descriptor_(descriptor), memory_(memory), bytes_(bytes) {}
  static std::shared_ptr<RingMemory> map(int descriptor, std::size_t bytes);
  RingPlace place(std::size_t which) const;

  int descriptor_;
  std::byte* const memory_;
  const std::size_t bytes_;
};

// How many bytes a ring has where so many ranks share a machine. All rings that a rank writes to stay within a few
// megabytes; 0 where there are so many ranks that rings would be too small for that: they stay on their sockets.
std::size_t ring_bytes(int local_ranks);
// The longest message that goes through a ring where memory could be read instead. Two copies through a ring cost less
// than one by process_vm_readv as long as what all ranks have in their rings stays in the caches, and more once it does
// not (tacit bench allreduce --world tcp, 1 MiB and 64 MiB).
std::size_t most_by_ring(int local_ranks);

}  // namespace tacit
