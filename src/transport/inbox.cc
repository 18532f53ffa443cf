// SPDX-License-Identifier: MIT
#include "transport/inbox.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tacit/core/error.h"
#include "transport/wait_tally.h"

namespace tacit {

// The receiving side of a message. Its message_ is written under the inbox's lock before arrived_ is set.
class Receive final : public Operation {
 public:
  Receive(Inbox& inbox, const Want& want) : inbox_(inbox), want_(want), counted_(inbox, want.peer) {
    inbox_.post(*this);
    if (!want_.borrow && arrived_.load() && message_->offer && !take_offer()) lose_offer();
  }
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;
  ~Receive() override {
    if (!arrived_.load()) inbox_.drop(*this);
  }

  Arrival wait() override {
    if (!arrived_.load()) {
      Blocked blocked;
      inbox_.waiter_.wait(want_.peer, want_.tag, arrived_);
      blocked.under_way_since(message_->begun);
    }
    if (message_->offer && !take_offer()) lose_offer();
    const Message& m = *message_;
    const bool in_place = m.landing.data() == want_.into.data();
    if (!std::exchange(settled_, true)) {
      inbox_.ledger_.count_received(m.from, want_.tag.lane(), m.length, m.framing);
      if (!in_place && want_.has_room(m.length)) copy<std::byte>(m.landing, want_.into.first(m.length));
    }
    return want_.arrival(inbox_.rank_, m.from, m.landing);
  }
  const Want& want() const { return want_; }
  bool ready_by(Deadline deadline) override {
    return inbox_.waiter_.ready_by(want_.peer, want_.tag, arrived_, deadline);
  }
  bool ready() override { return inbox_.waiter_.ready(want_.peer, want_.tag, arrived_); }

 private:
  friend class Inbox;
  // A message that is borrowed stays with its sender until it is needed; others are taken at once, so that their sender
  // can go on. No lock is held.
  bool take_offer() {
    Message& m = *message_;
    if (want_.borrow) {
      inbox_.make_room(m);
    } else if (m.length <= want_.into.size()) {
      m.landing = want_.into.first(m.length);
    } else {
      m.landing = {static_cast<std::byte*>(nullptr), m.length};  // too long: it is refused and never read
    }
    const bool taken = m.landing.data() == nullptr || m.offer->take(m.landing);
    m.offer.reset();
    return taken;
  }
  [[noreturn]] void lose_offer() const {
    throw PeerLost(inbox_.rank_, message_->from, "its memory cannot be read any more");
  }

  // While it is there the peer cannot come back.
  class Counted {
   public:
    Counted(Inbox& inbox, int peer)
        : count_(peer == kAnyRank ? nullptr : &inbox.from_one_[static_cast<std::size_t>(peer)]) {
      if (count_ != nullptr) count_->fetch_add(1);
    }
    ~Counted() {
      if (count_ != nullptr) count_->fetch_sub(1);
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    std::atomic<int>* const count_;
  };

  Inbox& inbox_;
  const Want want_;
  const Counted counted_;
  std::shared_ptr<Message> message_;
  std::atomic<bool> arrived_{false};
  bool settled_ = false;  // the owner's
};

NoMemory::NoMemory(int rank, const Message& message) {
  std::snprintf(text_.data(), text_.size(),
                "rank %d has no memory for a message of %zu bytes from rank %d (%s); give it more, or run "
                "fewer ranks on "
                "its machine",
                rank, message.length, message.from, message.tag.text().c_str());
}

void Inbox::make_room(Message& message) {
  try {
    message.buffer = pool_.take(message.length);
  } catch (const std::bad_alloc&) {
    throw NoMemory(rank_, message);
  }
  message.landing = message.buffer.first(message.length);
}

Request Inbox::receive(const Want& want) { return std::make_unique<Receive>(*this, want); }

std::shared_ptr<Message> Inbox::announce(int from, Tag tag, std::size_t length, std::size_t framing) {
  auto message = std::make_shared<Message>(Message{from, tag, length, framing, {}, {}});
  const MutexLock lock(mutex_);
  message->order = announced_++;
  place(message);
  return message;
}

void Inbox::place(const std::shared_ptr<Message>& message) {
  Receive* const receive = matcher_.first_receive(message->from, message->tag);
  if (receive != nullptr && receive->want_.has_room(message->length)) {
    message->landing = receive->want_.into.first(message->length);
  } else {
    make_room(*message);
  }
  message->receiver = receive;
  if (receive != nullptr) {  // nothing throws from here on
    matcher_.withdraw(*receive);
    message->begun = RealClock().now();
    receive->message_ = message;
  } else {
    matcher_.hold(message, [&](const auto& m) { return m->order > message->order; });
  }
}

const std::atomic<bool>* Inbox::complete(const std::shared_ptr<Message>& message) {
  const MutexLock lock(mutex_);
  message->complete = true;
  Receive* receive = std::exchange(message->receiver, nullptr);
  if (receive == nullptr) return nullptr;
  const std::atomic<bool>* flag = &receive->arrived_;
  receive->arrived_.store(true);  // the last touch: its owner may drop it now
  return flag;
}

bool Inbox::offer(int from, Tag tag, std::size_t length, std::size_t framing, std::unique_ptr<Offer> what) {
  auto message = std::make_shared<Message>(Message{from, tag, length, framing, {}, {}});
  message->offer = std::move(what);
  Receive* receive = nullptr;
  {
    const MutexLock lock(mutex_);
    message->order = announced_++;
    receive = matcher_.first_receive(from, tag);
    if (receive == nullptr) {
      message->complete = true;
      matcher_.hold(std::move(message));
      return true;
    }
    matcher_.withdraw(*receive);
    message->receiver = receive;
    message->begun = RealClock().now();
    receive->message_ = message;
  }
  // Who drops the receive now waits for us: between_reads().
  const bool taken = receive->want_.borrow || receive->take_offer();
  if (taken) complete(message);
  return taken;
}

void Inbox::withdraw(int from, std::uint64_t ticket) {
  std::shared_ptr<Message> message;  // dropped without the lock: that says something to the sender
  const MutexLock lock(mutex_);
  message = matcher_.take(
      [&](const auto& m) { return m->from == from && m->offer && m->offer->ticket() == ticket; });
}

void Inbox::post(Receive& receive) {
  const MutexLock lock(mutex_);
  receive.message_ = matcher_.take_or_post(receive);
  if (!receive.message_) return;
  if (receive.message_->complete) {
    receive.arrived_.store(true);
  } else {
    receive.message_->receiver = &receive;
  }
}

// Its message, if it is coming in, goes to the next receive that asked for it or will ask, and not into memory that is
// about to be gone. Where a peer's messages come side by side, those that nobody has asked for keep their order.
void Inbox::drop(Receive& receive) noexcept {
  int from = kAnyRank;
  {
    const MutexLock lock(mutex_);
    if (matcher_.withdraw(receive) || !receive.message_ || receive.message_->complete) return;
    from = receive.message_->from;
  }
  waiter_.between_reads(from, [&] {
    const std::shared_ptr<Message>& message = receive.message_;
    BufferPool::Buffer before;  // until what has come is copied
    const MutexLock lock(mutex_);
    if (message->complete) return;
    before = std::move(message->buffer);
    const Bytes come = message->landing.first(message->received);
    try {
      place(message);
      copy<std::byte>(come, message->landing.first(message->received));
    } catch (const std::bad_alloc&) {
      message->receiver = nullptr;
      message->landing = {};  // homeless(): this is a destructor's, and the transport says what it means
    }
  });
}

void Inbox::clear() {
  std::vector<std::shared_ptr<Message>> dropped;  // without the lock: that says something to the senders
  const MutexLock lock(mutex_);
  dropped = matcher_.take_all();
}

bool Inbox::quiet(int peer, std::span<const Tag> tags) {
  if (from_one_[static_cast<std::size_t>(peer)].load() != 0) return false;
  const MutexLock lock(mutex_);
  return !matcher_.holds([&](const auto& m) {
    return m->from == peer && std::find(tags.begin(), tags.end(), m->tag) != tags.end();
  });
}

void Inbox::forget(int peer) {
  std::vector<std::shared_ptr<Message>> dropped;  // without the lock, as in clear()
  const MutexLock lock(mutex_);
  while (auto message = matcher_.take([&](const auto& m) { return m->from == peer; }))
    dropped.push_back(std::move(message));
}

}  // namespace tacit
