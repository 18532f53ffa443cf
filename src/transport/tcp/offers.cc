// SPDX-License-Identifier: MIT
#include "transport/tcp/offers.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <span>
#include <utility>

#include "tacit/core/error.h"
#include "transport/wait_tally.h"

namespace tacit {

// The sender's side: over once the peer has taken it.
class Offers::SendOperation final : public Operation {
 public:
  SendOperation(Offers& offers, Tag tag, ConstBytes data, std::uint64_t ticket, std::shared_ptr<Made> made)
      : offers_(offers), tag_(tag), data_(data), ticket_(ticket), made_(std::move(made)) {}
  SendOperation(const SendOperation&) = delete;
  SendOperation& operator=(const SendOperation&) = delete;

  ~SendOperation() override {
    if (made_->taken.load()) return;
    // The peer may be reading our memory. On the way out of an error it may be waiting for us in turn, so say first
    // that nothing more comes, which ends its wait.
    if (std::uncaught_exceptions() > 0) offers_.rank_.fail();
    offers_.say(FrameType::kWithdraw, ticket_);
    offers_.rank_.owner.wait_returned(offers_.peer_, made_->taken);
    if (!made_->taken.load()) made_->valid.store(0);  // a peer that we have lost may come for it yet
  }
  // Until the peer comes for it: reading it is quick beside that.
  Arrival wait() override {
    if (!made_->taken.load()) {
      const Blocked blocked;
      offers_.rank_.owner.wait_written(offers_.peer_, tag_, made_->taken);
    }
    return {offers_.peer_, tag_, data_};
  }
  bool ready_by(Deadline deadline) override {
    return offers_.rank_.owner.ready_by(offers_.peer_, tag_, made_->taken, deadline);
  }
  bool ready() override { return offers_.rank_.owner.ready(offers_.peer_, tag_, made_->taken); }

 private:
  Offers& offers_;
  const Tag tag_;
  const ConstBytes data_;
  const std::uint64_t ticket_;
  const std::shared_ptr<Made> made_;
};

// The receiver's side.
class Offers::RemoteMessage final : public Offer {
 public:
  RemoteMessage(Offers& offers, const OfferedMessage& what) : offers_(offers), what_(what) {}
  RemoteMessage(const RemoteMessage&) = delete;
  RemoteMessage& operator=(const RemoteMessage&) = delete;
  ~RemoteMessage() override { offers_.say(FrameType::kTaken, what_.ticket); }

  std::uint64_t ticket() const override { return what_.ticket; }
  bool take(Bytes into) override {
    std::uint64_t valid = 0;
    return offers_.memory_->read(what_.address, into) &&
           offers_.memory_->read(what_.valid, std::as_writable_bytes(std::span(&valid, 1))) &&
           valid == what_.ticket;
  }

 private:
  Offers& offers_;
  const OfferedMessage what_;
};

Offers::~Offers() {
  const MutexLock lock(mutex_);
  for (const auto& [ticket, made] : made_) made->valid.store(0);
}

void Offers::supersede() {
  const MutexLock lock(mutex_);
  superseded_ = true;
  for (const auto& [ticket, made] : std::exchange(made_, {})) {
    made->valid.store(0);
    made->taken.store(true);
  }
}

// For destructors. What must not be missing is missing without memory: the connection cannot go on.
void Offers::say(FrameType type, std::uint64_t ticket) noexcept {
  try {
    connection_.send_control({type}, encode_ticket(ticket));
  } catch (const std::bad_alloc&) {
    connection_.shut_down();
  }
}

void Offers::invite() {
  if (!memory_) return;
  connection_.between_reads([&] {
    chosen_ = memory_->token();
    trial_ = Trial::kAsked;
  });
  connection_.send_control({FrameType::kMemory}, encode_token(chosen_));
}

// A peer may try where we do not: one of us was told to use sockets only. It gets no answer.
void Offers::on_memory(const MemoryToken& token) {
  if (std::exchange(answered_, true)) throw BadFrame("it tries our memory a second time");
  if (!memory_) return;
  written_ = token;
  const MemoryProof proof{static_cast<std::uint32_t>(::getpid()),
                          reinterpret_cast<std::uint64_t>(written_.data())};
  connection_.send_control({FrameType::kProof}, encode(proof));
}

void Offers::on_proof(const MemoryProof& proof) {
  if (trial_ != Trial::kAsked) throw BadFrame("a proof of its memory for which it was not asked");
  MemoryToken found{};
  const bool proven = memory_->is(proof.process) && memory_->read(proof.address, found) && found == chosen_;
  trial_ = proven ? Trial::kReadable : Trial::kOver;
  if (proven) connection_.send_control({FrameType::kReadable}, {});
}

void Offers::on_readable() {
  if (!memory_ || !answered_ || possible_.load()) throw BadFrame("it has not tried to read our memory");
  possible_.store(true);
  lacks_ring(shortcut_.propose());
}

void Offers::lacks_ring(const std::string& why) const {
  if (!why.empty() && rank_.lacks_ring) rank_.lacks_ring(peer_, why);
}

Request Offers::make(Tag tag, ConstBytes data) {
  std::shared_ptr<Made> made;
  std::uint64_t ticket = 0;
  {
    const MutexLock lock(mutex_);
    ticket = next_ticket_++;
    made = std::make_shared<Made>(ticket);
    if (superseded_)
      made->taken.store(true);
    else
      made_[ticket] = made;
  }
  rank_.ledger.count_sent(peer_, tag.lane(), data.size(), 0);  // its frame is counted where it is sent
  const OfferedMessage offer{ticket, reinterpret_cast<std::uint64_t>(data.data()), data.size(),
                             reinterpret_cast<std::uint64_t>(&made->valid)};
  connection_.send_control({FrameType::kOffer, tag.bits()}, encode(offer));
  return std::make_unique<SendOperation>(*this, tag, data, ticket, std::move(made));
}

bool Offers::on_frame(const FrameHeader& header, ConstBytes payload) {
  switch (header.type) {
    case FrameType::kMemory:
      on_memory(decode_token(payload));
      return false;
    case FrameType::kProof:
      on_proof(decode_proof(payload));
      return false;
    case FrameType::kReadable:
      on_readable();
      return false;
    case FrameType::kOffer: {
      const OfferedMessage what = decode_offer(payload);
      if (trial_ != Trial::kReadable) throw BadFrame("an offer of memory that cannot be read");
      if (!rank_.inbox.offer(peer_, *Tag::from_bits(header.tag), what.size,
                             kFrameHeaderBytes + payload.size(),
                             std::make_unique<RemoteMessage>(*this, what)))
        throw BadFrame("an offer of memory that is gone");
      rank_.owner.on_message(peer_, *Tag::from_bits(header.tag));
      return true;
    }
    case FrameType::kTaken: {
      const std::uint64_t ticket = decode_ticket(payload);
      const MutexLock lock(mutex_);
      const auto found = made_.find(ticket);
      if (found == made_.end()) throw BadFrame("nothing was offered under ticket " + std::to_string(ticket));
      found->second->taken.store(true);
      made_.erase(found);
      return true;
    }
    case FrameType::kWithdraw:
      rank_.inbox.withdraw(peer_, decode_ticket(payload));
      return false;
    case FrameType::kRings: {
      const RingOffer rings = decode_rings(payload);
      if (trial_ != Trial::kReadable) throw BadFrame("rings in memory that cannot be read");
      std::string why;
      std::shared_ptr<RingMemory> opened = memory_->rings(rings.descriptor, rings.bytes, why);
      shortcut_.on_rings(std::move(opened));
      lacks_ring(why);
      return false;
    }
    case FrameType::kSwitch:
      if (!payload.empty()) throw BadFrame("a switch to a ring says nothing else");
      shortcut_.on_switch();
      return false;
    default:
      throw BadFrame("frame type " + std::to_string(static_cast<int>(header.type)) +
                     " after the ranks have met");
  }
}

}  // namespace tacit
