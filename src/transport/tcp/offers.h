// SPDX-License-Identifier: MIT
// Large messages between ranks of one machine: the sender says where in its memory the message lies, the receiver reads
// it from there (process_vm_readv) straight to where it belongs, and says so. A socket would copy it twice, and encrypt
// and decrypt it on the way. Used where a trial at the start proves which process the peer is, and that the kernel lets
// it be read: the reader makes up 16 bytes, the peer writes them into its memory and says where, the reader finds them
// there. One try each way per connection.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "core/mutex.h"
#include "transport/inbox.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/messages.h"
#include "transport/tcp/peer_memory.h"

namespace tacit {

// The offers between this rank and one peer. Threads: any.
class Offers {
 public:
  // Below this size a socket is faster (tacit bench allreduce --world tcp).
  static constexpr std::size_t kLeast = std::size_t{128} * 1024;

  // What all offers of a rank share.
  struct Rank {
    Inbox& inbox;
    Ledger& ledger;
    ConnectionOwner& owner;
    std::function<void()> fail;  // tells the peers that this rank fails
  };
  // Without memory that could be tried nothing is offered, in either direction.
  Offers(int peer, Connection& connection, const Rank& rank, std::unique_ptr<PeerMemory> memory)
      : peer_(peer), connection_(connection), rank_(rank), memory_(std::move(memory)) {}
  ~Offers();
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

  // Asks the peer for its proof, so that it may offer.
  void invite();
  bool possible() const { return possible_.load(); }
  Request make(Tag tag, ConstBytes data);

  // One of the frames kMemory to kWithdraw came. Throws BadFrame for one out of turn. True where an operation may have ended.
  bool on_frame(const FrameHeader& header, ConstBytes payload);

 private:
  class SendOperation;
  class RemoteMessage;
  struct Made {
    explicit Made(std::uint64_t ticket) : valid(ticket) {}
    std::atomic<bool> taken{false};
    // The ticket, until the sender gives the message up without an answer and uses its memory for something else. The
    // peer reads this after the message, and knows whether that was still the message.
    std::atomic<std::uint64_t> valid;
  };

  void say(FrameType type, std::uint64_t ticket) noexcept;
  void on_memory(const MemoryToken& token);
  void on_proof(const MemoryProof& proof);
  void on_readable();

  const int peer_;
  Connection& connection_;
  const Rank rank_;
  const std::unique_ptr<PeerMemory> memory_;
  std::atomic<bool> possible_{false};
  // The reader's: frames come one after the other.
  enum class Trial { kNone, kAsked, kReadable, kOver } trial_ = Trial::kNone;  // of the peer's memory by us
  bool answered_ = false;                                                      // the peer's trial of ours
  MemoryToken chosen_{};                                                       // by us, for the peer to write
  MemoryToken written_{};  // chosen by the peer, which reads it here
  Mutex mutex_;
  std::uint64_t next_ticket_ TACIT_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, std::shared_ptr<Made>> made_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
