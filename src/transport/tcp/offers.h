// SPDX-License-Identifier: MIT
// Large messages between ranks of one machine: the sender says where in its memory the message lies, the receiver reads
// it from there (process_vm_readv) straight to where it belongs, and says so. A socket would copy it twice, and encrypt
// and decrypt it on the way. Used where a trial at the start shows that the kernel lets the peer read.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>

#include "tacit/core/mutex.h"
#include "transport/inbox.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/messages.h"

namespace tacit {

// The offers between this rank and one peer. Threads: any.
class Offers {
 public:
  // Below this size a socket is faster (tacit bench allreduce --world tcp).
  static constexpr std::size_t kLeast = std::size_t{128} * 1024;

  Offers(int peer, Connection& connection, Inbox& inbox, Ledger& ledger, ConnectionOwner& owner,
         std::function<void()> fail)
      : peer_(peer),
        connection_(connection),
        inbox_(inbox),
        ledger_(ledger),
        owner_(owner),
        fail_(std::move(fail)) {}

  // Lets the peer try. `token` stays where it is as long as this rank lives.
  void invite(const std::array<std::byte, 16>& token);
  bool possible() const { return possible_.load(); }
  Request make(Tag tag, ConstBytes data);

  // One of the frames kMemory to kWithdraw came. True where an operation may have ended.
  bool on_frame(const FrameHeader& header, ConstBytes payload);

 private:
  class SendOperation;
  class RemoteMessage;
  struct Made {
    std::atomic<bool> taken{false};
  };

  const int peer_;
  Connection& connection_;
  Inbox& inbox_;
  Ledger& ledger_;
  ConnectionOwner& owner_;
  const std::function<void()> fail_;  // tells the peers that this rank fails
  std::atomic<bool> possible_{false};
  std::atomic<std::uint32_t> process_{0};  // the peer's, once its memory could be read
  Mutex mutex_;
  std::uint64_t next_ticket_ TACIT_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, std::shared_ptr<Made>> made_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
