// SPDX-License-Identifier: MIT
#include "schedules/scheduled_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tacit::test {
namespace {

// All ranks of a schedule are in this process.
class OwnMemory final : public PeerMemory {
 public:
  MemoryToken token() override { return {std::byte{1}, std::byte{2}, std::byte{3}}; }
  bool is(std::uint32_t) override { return true; }
  bool read(std::uint64_t address, Bytes into) override {
    if (!into.empty()) std::memcpy(into.data(), reinterpret_cast<const void*>(address), into.size());
    return true;
  }
  std::shared_ptr<RingMemory> rings(std::uint32_t descriptor, std::uint64_t bytes, std::string&) override {
    return RingMemory::open(::dup(static_cast<int>(descriptor)), bytes);
  }
};

}  // namespace

std::string Lot::text() const {
  return "from rank " + std::to_string(from) + " to rank " + std::to_string(to) + ", tag " +
         std::to_string(tag);
}

std::vector<std::byte> Lot::message(std::uint64_t number, std::size_t size) const {
  std::vector<std::byte> data(size);
  const std::uint64_t base =
      number * 29 + static_cast<std::uint64_t>(from) * 101 + static_cast<std::uint64_t>(to) * 53 + tag * 17U;
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(base + i * 7 + (i >> 8U));
  if (size >= sizeof number) std::memcpy(data.data(), &number, sizeof number);
  return data;
}

ScheduledRank::ScheduledRank(int rank, int size, std::function<bool()> go_on)
    : rank_(rank),
      go_on_(std::move(go_on)),
      ledger_(size, rank),
      connections_(static_cast<std::size_t>(size)),
      offers_(static_cast<std::size_t>(size)),
      bytes_before_(static_cast<std::size_t>(size)),
      lost_(static_cast<std::size_t>(size)) {}

ScheduledRank::~ScheduledRank() {
  asked_.clear();
  sent_.clear();
  inbox_.clear();
}

void ScheduledRank::connect(int peer, std::shared_ptr<Stream> stream, std::size_t most_at_once, bool invite,
                            std::size_t ring_bytes) {
  const auto at = static_cast<std::size_t>(peer);
  bytes_before_[at] = stream->bytes_out();
  connections_[at] = std::make_unique<Connection>(*this, inbox_, ledger_, peer, std::move(stream));
  offers_[at] = std::make_unique<Offers>(peer, *connections_[at],
                                         Offers::Rank{inbox_, ledger_, *this, [] {}, rank_, ring_bytes, 0},
                                         invite ? std::make_unique<OwnMemory>() : nullptr);
  connections_[at]->take_at_once(most_at_once);
  connections_[at]->start();
  offers_[at]->invite();
}

void ScheduledRank::give_up(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  lost_[at] = std::max(lost_[at], 1);
  connections_[at]->shut_down();
}

// --- what a rank does

void ScheduledRank::send(int peer, unsigned tag, std::size_t size, bool offer) {
  const auto at = static_cast<std::size_t>(peer);
  const Lot lot{rank_, peer, tag};
  const std::uint64_t number = numbers_[lot]++;
  SentMessage& message = sent_.emplace_back();
  message.lot = lot;
  message.number = number;
  message.data = lot.message(number, tag == Lot::kStrict ? size : std::max(size, sizeof number));
  message.offered = offer && offers_[at]->possible();
  message.request = message.offered ? offers_[at]->make(lot.wire_tag(), message.data)
                                    : connections_[at]->send(lot.wire_tag(), message.data);
  message.known = done(*message.request);
  if (!message.offered && message.known)
    std::fill(message.data.begin(), message.data.end(), std::byte{0xEE});  // its memory is ours again
}

void ScheduledRank::ask(int peer, unsigned tag, std::size_t size, bool borrow) {
  AskedMessage& asked = asked_.emplace_back();
  asked.from = peer;
  asked.tag = tag;
  asked.borrow = borrow;
  if (!borrow) asked.into.resize(size);
  try {
    asked.request = inbox_.receive({peer, Lot{0, 0, tag}.wire_tag(), asked.into, borrow});
    asked.known = done(*asked.request);
  } catch (const PeerLost& lost) {
    asked.lost_with = lost.peer;
  }
}

void ScheduledRank::look(std::size_t which) {
  std::vector<std::pair<Operation*, const void*>> pending;
  for (const AskedMessage& asked : asked_)
    if (asked.request && !asked.known) pending.emplace_back(asked.request.get(), &asked);
  for (const SentMessage& message : sent_)
    if (message.request && !message.known) pending.emplace_back(message.request.get(), &message);
  if (pending.empty()) return;
  const auto& [request, owner] = pending[which % pending.size()];
  request->ready_by({});
  check_wakes(owner);
}

// Its message is there: takes it, and checks that it is one that was sent, whole.
void ScheduledRank::finish(AskedMessage& asked) {
  const Arrival arrival = asked.request->wait();
  const Lot lot{arrival.peer, rank_, asked.tag};
  const auto got = std::count_if(asked_.begin(), asked_.end(), [&](const AskedMessage& a) {
    return a.got_from == arrival.peer && a.tag == asked.tag;
  });
  std::uint64_t number = static_cast<std::uint64_t>(got);
  if (asked.tag != Lot::kStrict) {
    if (arrival.data.size() < sizeof number) throw LawBroken("a message " + lot.text() + " is too short");
    std::memcpy(&number, arrival.data.data(), sizeof number);
  }
  const std::vector<std::byte> expected = lot.message(number, arrival.data.size());
  if (!std::equal(expected.begin(), expected.end(), arrival.data.begin(), arrival.data.end()))
    throw LawBroken("message " + std::to_string(number) + " " + lot.text() + " is not what was sent");
  asked.got_from = arrival.peer;
  asked.got_number = number;
  asked.request.reset();
}

// In the order in which they were asked for, which is the order of each peer's messages.
bool ScheduledRank::finish_ready() {
  bool some = false;
  for (AskedMessage& asked : asked_) {
    if (!asked.request || !done(*asked.request)) continue;
    try {
      finish(asked);
    } catch (const PeerLost& lost) {
      asked.lost_with = lost.peer;
      asked.request.reset();
    }
    some = true;
  }
  return some;
}

void ScheduledRank::drop_asked(std::size_t which) {
  if (asked_.empty()) return;
  AskedMessage& asked = *std::next(asked_.begin(), static_cast<std::ptrdiff_t>(which % asked_.size()));
  if (!asked.request) return;
  if (done(*asked.request)) {
    if (asked.tag == Lot::kStrict) return;
    asked.blind = true;
  }
  asked.request.reset();
  std::fill(asked.into.begin(), asked.into.end(), std::byte{0xDD});
  asked.into = {};  // the address sanitizer sees who writes there now
}

void ScheduledRank::drop_sent(std::size_t which) {
  if (sent_.empty()) return;
  SentMessage& message = *std::next(sent_.begin(), static_cast<std::ptrdiff_t>(which % sent_.size()));
  if (!message.request) return;
  if (!done(*message.request)) {
    if (message.lot.tag == Lot::kStrict) return;
    message.optional = true;
    // Whoever holds a loan and a send of its own drops the loan first (Operation).
    finish_ready();
    for (AskedMessage& asked : asked_)
      if (asked.borrow) asked.request.reset();
  }
  message.request.reset();
  message.data.assign(message.data.size(), std::byte{0xEE});
}

void ScheduledRank::drop_all() {
  for (AskedMessage& asked : asked_) asked.request.reset();
  for (SentMessage& message : sent_) message.request.reset();
}

// --- laws

bool ScheduledRank::done(Operation& request) {
  quiet_ = true;
  const bool done = request.ready_by({});
  quiet_ = false;
  return done;
}

void ScheduledRank::check_wakes(const void* acted_on) {
  const bool woken = std::exchange(progress_seen_, progress_) != progress_;
  const auto look_at = [&](auto& each) {
    if (!each.request || each.known || !done(*each.request)) return;
    each.known = true;
    if (!woken && &each != acted_on)
      throw LawBroken("a request of rank " + std::to_string(rank_) + " has ended and nobody was told");
  };
  for (AskedMessage& asked : asked_) look_at(asked);
  for (SentMessage& message : sent_) look_at(message);
}

void ScheduledRank::check_rest(int peer, std::uint64_t bytes_out) {
  const auto at = static_cast<std::size_t>(peer);
  const std::string me = "rank " + std::to_string(rank_);
  if (!connections_[at]->idle()) throw LawBroken(me + " has something left to write");
  if (connections_[at]->copied() != 0) throw LawBroken(me + " counts copies that are not there");
  for (SentMessage& message : sent_)
    if (message.request && message.lot.to == peer && !done(*message.request))
      throw LawBroken("the send of message " + std::to_string(message.number) + " " + message.lot.text() +
                      " does not end");
  std::uint64_t counted = 0;
  bool offered = false;
  for (const SentMessage& message : sent_)
    if (message.offered && message.lot.to == peer) {
      counted -= message.data.size();  // it went another way
      offered = true;
    }
  for (const Tag::Lane lane : {Tag::Lane::kTrain, Tag::Lane::kBackground, Tag::Lane::kControl}) {
    const Traffic sent = ledger_.sent(peer, lane);
    const Traffic received = ledger_.received(peer, lane);
    counted += sent.wire();
    const std::uint64_t least = offered ? 0 : sent.messages * kFrameHeaderBytes;
    if (sent.framing < least || sent.framing > bytes_out || received.framing >= std::uint64_t{1} << 32U)
      throw LawBroken(me + " counts " + std::to_string(sent.framing) + " bytes of framing to rank " +
                      std::to_string(peer) + " and " + std::to_string(received.framing) + " from it");
  }
  if (counted != bytes_out - bytes_before_[at])
    throw LawBroken(me + " sent " + std::to_string(bytes_out - bytes_before_[at]) + " bytes to rank " +
                    std::to_string(peer) + " and counts " + std::to_string(counted));
}

// --- ConnectionOwner

void ScheduledRank::wait(int, Tag, const std::atomic<bool>& done) {
  if (!done.load()) throw LawBroken("a request that was ready is not");
}

bool ScheduledRank::ready_by(int peer, Tag, const std::atomic<bool>& done, Deadline) {
  if (!quiet_ && !done.load() && peer != kAnyRank && connected(peer))
    connections_[static_cast<std::size_t>(peer)]->advance(&done);
  return done.load();
}

void ScheduledRank::wait_returned(int peer, const std::atomic<bool>& done) {
  if (quiet_ || done.load()) return;
  const bool before = std::exchange(blocked_, true);
  try {
    while (!done.load() && lost(peer) == 0)
      if (!go_on_())
        throw LawBroken("rank " + std::to_string(rank_) + " stalls where it drops a send to rank " +
                        std::to_string(peer));
  } catch (const LawBroken& broken) {  // nothing leaves a destructor
    broken_ = broken.what();
  }
  blocked_ = before;
}

void ScheduledRank::between_reads(int peer, const std::function<void()>& fn) {
  connections_[static_cast<std::size_t>(peer)]->between_reads(fn);
}

void ScheduledRank::on_control(int peer, const FrameHeader& header, ConstBytes payload) {
  if (offers_[static_cast<std::size_t>(peer)]->on_frame(header, payload)) ++progress_;
}

void ScheduledRank::on_lost(int peer, const std::string& why) {
  if (lost_[static_cast<std::size_t>(peer)]++ > 0) broken_ = "a peer is lost twice: " + why;
  ++progress_;
}

}  // namespace tacit::test
