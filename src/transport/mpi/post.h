// SPDX-License-Identifier: MIT
// Short messages between all ranks over MPI, in order per sender: what they are about and, where it fits, the whole of
// a Tacit message.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "transport/buffer_pool.h"

namespace tacit {

// On the wire as it lies in memory; ranks of one MPI job run the same build on the same byte order.
struct PostHeader {
  enum class Kind : std::uint32_t {
    kMessage = 1,  // tag, length; the message follows
    kOffer,    // tag, length, number: a message too long for a post, which comes as cargo when it is granted
    kGrant,    // number of the offer: the receiver has made room
    kGoodbye,  // number: grants that the sender will still serve; length: of the reason that follows
    kGone,     // the sender's fabric is being dropped
    kSilent,   // the sender makes no MPI call any more, and has its account still to give
  };
  Kind kind = Kind::kMessage;
  std::int32_t culprit = -1;  // of a goodbye
  std::uint64_t tag = 0;      // of a goodbye: 1 if it failed
  std::uint64_t length = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(PostHeader) == 32);

// The longest message that goes as one post: below, a copy costs less than a round trip.
inline constexpr std::size_t kMostPosted = std::size_t{16} * 1024;
// The MPI tag of posts; cargo has all others.
inline constexpr int kPostTag = 0;

// Threads  one at a time. Uses its communicator for nothing but kPostTag.
class MpiPost {
 public:
  explicit MpiPost(MPI_Comm comm);
  MpiPost(const MpiPost&) = delete;
  MpiPost& operator=(const MpiPost&) = delete;

  // Copies, so that the caller is done.
  void send(int peer, const PostHeader& header, ConstBytes body);

  // Handles what has come, one at a time; body is readable until handle returns. True where something happened.
  using Handle = std::function<void(int from, const PostHeader& header, ConstBytes body)>;
  bool poll(const Handle& handle);
  bool all_sent() const { return outgoing_.empty(); }

  // Nothing more is received. MPI no longer touches this object's memory once all is sent.
  void close();

 private:
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    BufferPool::Buffer buffer;
  };
  void listen(Slot& slot);
  bool reap();

  const MPI_Comm comm_;
  BufferPool pool_;
  std::vector<Slot>
      slots_;  // posted in this order, from next_ on: MPI fills them in the order of the posting
  std::size_t next_ = 0;
  std::list<Slot> outgoing_;
};

}  // namespace tacit
