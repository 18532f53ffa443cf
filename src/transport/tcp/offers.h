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
#include "transport/tcp/shortcut.h"

namespace tacit {

// The offers between this rank and one peer. Threads: any.
class Offers {
 public:
  // Below this size a socket is faster (tacit bench allreduce --world tcp). A ring is up to Rank::most_by_ring.
  static constexpr std::size_t kLeast = std::size_t{128} * 1024;

  // What all offers of a rank share.
  struct Rank {
    Inbox& inbox;
    Ledger& ledger;
    ConnectionOwner& owner;
    std::function<void()> fail;  // tells the peers that this rank fails
    int number = 0;              // the rank's
    std::size_t ring_bytes = 0;  // of each ring; 0: none are made
    std::size_t most_by_ring = 0;
    std::function<void(int peer, const std::string& why)> lacks_ring{};  // told where there should be one
  };
  // Without memory that could be tried nothing is offered, in either direction.
  Offers(int peer, Connection& connection, const Rank& rank, std::unique_ptr<PeerMemory> memory)
      : peer_(peer),
        connection_(connection),
        rank_(rank),
        memory_(std::move(memory)),
        shortcut_(connection, rank.number < peer, rank.ring_bytes) {}
  ~Offers();
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

  // Asks the peer for its proof, so that it may offer.
  void invite();
  bool possible() const { return possible_.load(); }
  // Whether a message of this size is better offered than sent.
  bool better(std::size_t bytes) const {
    return bytes >= kLeast && possible() && (bytes > rank_.most_by_ring || !connection_.by_ring());
  }
  Request make(Tag tag, ConstBytes data);
  // The peer has come back as another process: what was offered to the one before ends as if it had been taken.
  void supersede();

  // One of the frames kMemory to kWithdraw, kRings or kSwitch came. Throws BadFrame for one out of turn. True where an
  // operation may have ended.
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
  void lacks_ring(const std::string& why) const;  // nothing: there is one, or should be none

  const int peer_;
  Connection& connection_;
  const Rank rank_;
  const std::unique_ptr<PeerMemory> memory_;
  Shortcut shortcut_;  // the reader's
  std::atomic<bool> possible_{false};
  // The reader's: frames come one after the other.
  enum class Trial { kNone, kAsked, kReadable, kOver } trial_ = Trial::kNone;  // of the peer's memory by us
  bool answered_ = false;                                                      // the peer's trial of ours
  MemoryToken chosen_{};                                                       // by us, for the peer to write
  MemoryToken written_{};  // chosen by the peer, which reads it here
  Mutex mutex_;
  bool superseded_ TACIT_GUARDED_BY(mutex_) = false;
  std::uint64_t next_ticket_ TACIT_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, std::shared_ptr<Made>> made_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
