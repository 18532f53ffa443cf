// SPDX-License-Identifier: MIT
#include "transport/tcp/offers.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

// Pieces that stay in the cache while they are copied.
constexpr std::size_t kPiece = std::size_t{256} * 1024;

// False where the process is gone or the kernel does not allow it.
bool read_memory(std::uint32_t process, std::uint64_t address, Bytes into) {
  for (std::size_t at = 0; at < into.size();) {
    const std::size_t count = std::min(kPiece, into.size() - at);
    const iovec here{into.data() + at, count};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process, never followed here
    const iovec there{reinterpret_cast<void*>(address + at), count};
    const ssize_t got = ::process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

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
    if (std::uncaught_exceptions() > 0) offers_.fail_();
    offers_.connection_.send_control({FrameType::kWithdraw}, encode_ticket(ticket_));
    offers_.owner_.ready_by(offers_.peer_, made_->taken, kNever);
  }
  Arrival wait() override {
    offers_.owner_.wait(offers_.peer_, tag_, made_->taken);
    return {offers_.peer_, tag_, data_};
  }
  bool ready_by(Deadline deadline) override {
    return offers_.owner_.ready_by(offers_.peer_, made_->taken, deadline);
  }

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
  ~RemoteMessage() override {
    offers_.connection_.send_control({FrameType::kTaken}, encode_ticket(what_.ticket));
  }

  std::uint64_t ticket() const override { return what_.ticket; }
  bool take(Bytes into) override { return read_memory(offers_.process_.load(), what_.address, into); }

 private:
  Offers& offers_;
  const OfferedMessage what_;
};

void Offers::invite(const std::array<std::byte, 16>& token) {
  if (!connection_.same_machine()) return;
  const MemoryProof proof{static_cast<std::uint32_t>(::getpid()),
                          reinterpret_cast<std::uint64_t>(token.data()), token};
  connection_.send_control({FrameType::kMemory}, encode(proof));
}

Request Offers::make(Tag tag, ConstBytes data) {
  auto made = std::make_shared<Made>();
  std::uint64_t ticket = 0;
  {
    const MutexLock lock(mutex_);
    ticket = next_ticket_++;
    made_[ticket] = made;
  }
  ledger_.count_sent(peer_, tag.lane(), data.size(), 0);  // its frame is counted where it is sent
  const OfferedMessage offer{ticket, reinterpret_cast<std::uint64_t>(data.data()), data.size()};
  connection_.send_control({FrameType::kOffer, tag.bits()}, encode(offer));
  return std::make_unique<SendOperation>(*this, tag, data, ticket, std::move(made));
}

bool Offers::on_frame(const FrameHeader& header, ConstBytes payload) {
  switch (header.type) {
    case FrameType::kMemory: {
      const MemoryProof proof = decode_proof(payload);
      std::array<std::byte, 16> found{};
      if (!connection_.same_machine() || !read_memory(proof.process, proof.address, found) ||
          found != proof.token)
        return false;
      process_.store(proof.process);
      connection_.send_control({FrameType::kReadable}, {});
      return false;
    }
    case FrameType::kReadable:
      possible_.store(true);
      return false;
    case FrameType::kOffer: {
      const OfferedMessage what = decode_offer(payload);
      if (process_.load() == 0) throw BadFrame("an offer of memory that cannot be read");
      if (!inbox_.offer(peer_, *Tag::from_bits(header.tag), what.size, kFrameHeaderBytes + payload.size(),
                        std::make_unique<RemoteMessage>(*this, what)))
        throw BadFrame("an offer of memory that is gone");
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
      inbox_.withdraw(peer_, decode_ticket(payload));
      return false;
    default:
      throw BadFrame("frame type " + std::to_string(static_cast<int>(header.type)) +
                     " after the ranks have met");
  }
}

}  // namespace tacit
