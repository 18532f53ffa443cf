// SPDX-License-Identifier: MIT
// Where messages from other processes and this rank's receives meet. A transport announces a message when its header is
// there, fills the memory it is given, and says when the message is complete; it need not know who receives it. Which
// message goes to which receive is Matcher's rule; what is here beyond it is what messages in one memory do not have:
// they come in piece by piece, while receives come and go, and find memory of the rank's own or lie offered elsewhere.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tacit/transport/endpoint.h"
#include "transport/buffer_pool.h"
#include "transport/matcher.h"
#include "transport/spin_mutex.h"

namespace tacit {

class Receive;

// A message that still lies in its sender's memory. Dropping it tells the sender that nobody needs it any more.
class Offer {
 public:
  virtual ~Offer() = default;
  virtual std::uint64_t ticket() const = 0;
  // False where the memory is gone.
  virtual bool take(Bytes into) = 0;
};

// An incoming message, or a complete one that nobody has received. Owned by the reader while it comes in, by the inbox
// while no receive matches it, then by that receive.
struct Message {
  int from;
  Tag tag;
  std::size_t length;
  std::size_t framing;          // what it cost beside its length; final once complete
  BufferPool::Buffer buffer;    // where it lands, unless in a receive's own memory
  Bytes landing;                // the memory to fill; the reader's
  std::size_t received = 0;     // bytes of it that are there; the reader's
  Receive* receiver = nullptr;  // guarded by the inbox
  bool complete = false;        // guarded by the inbox
  std::unique_ptr<Offer>
      offer{};              // what to take it from, where it has not landed; whoever claimed it takes it
  std::uint64_t order = 0;  // guarded by the inbox: messages in the order in which they were announced
  // When it was announced, on the machine's clock, where a receive waited for it then. Guarded by the inbox.
  Seconds begun{0};

  // It came in where a receive wanted it, the receive was dropped, and there was no other memory for it: the transport
  // cannot end it, and says so.
  bool homeless() const { return landing.size() < length; }
};

// There is no memory for a message. Says for which, and needs none for that.
class NoMemory : public std::bad_alloc {
 public:
  NoMemory(int rank, const Message& message);
  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 200> text_{};
};

// What a transport lends the operations of its ranks.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // Returns once done; throws where waiting for this peer is pointless or too long.
  virtual void wait(int peer, Tag tag, const std::atomic<bool>& done) = 0;
  // True once wait() would return or throw at once.
  virtual bool ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) = 0;
  // The same now, without a look at what has come. Where no peer can be lost, that is done.
  virtual bool ready(int, Tag, const std::atomic<bool>& done) const { return done.load(); }
  // Runs fn while nobody fills a message from this peer.
  virtual void between_reads(int peer, const std::function<void()>& fn) = 0;
};

// Threads  any.
class Inbox {
 public:
  Inbox(int rank, Ledger& ledger, Waiter& waiter)
      : rank_(rank), ledger_(ledger), waiter_(waiter), from_one_(static_cast<std::size_t>(ledger.size())) {}

  Request receive(const Want& want);

  // For the reader, in the order in which a peer sent: fill `landing` of what announce() gives, then call complete().
  std::shared_ptr<Message> announce(int from, Tag tag, std::size_t length, std::size_t framing);
  // The flag of the receive that this ended, to compare with; null where nobody has asked yet.
  const std::atomic<bool>* complete(const std::shared_ptr<Message>& message);

  // A message that needs no filling: it is taken at once where a receive has memory for it, else when one asks. False
  // where it could not be taken. Called like announce().
  bool offer(int from, Tag tag, std::size_t length, std::size_t framing, std::unique_ptr<Offer> what);
  // Drops an offer that no receive has got yet.
  void withdraw(int from, std::uint64_t ticket);
  // Drops what nobody has asked for. For a transport that ends, while it can still tell the senders of offers.
  void clear();

  // For a transport whose peer has left and wants to come back: no receive from this peer alone is left, and no message
  // of it with one of these tags waits to be asked for.
  bool quiet(int peer, std::span<const Tag> tags);
  // Drops what has come of it and nobody has asked for.
  void forget(int peer);

 private:
  friend class Receive;
  // Gives a message to the first receive that waits for it, or keeps it until one asks.
  void place(const std::shared_ptr<Message>& message) TACIT_REQUIRES(mutex_);
  void make_room(Message& message);  // throws NoMemory
  void post(Receive& receive);
  void drop(Receive& receive) noexcept;

  const int rank_;
  Ledger& ledger_;
  Waiter& waiter_;
  BufferPool pool_;
  std::vector<std::atomic<int>> from_one_;  // by peer: receives from it alone that are not dropped yet
  SpinMutex mutex_;
  std::uint64_t announced_ TACIT_GUARDED_BY(mutex_) = 0;
  Matcher<Message, Receive> matcher_ TACIT_GUARDED_BY(mutex_);  // messages by their order
};

}  // namespace tacit
