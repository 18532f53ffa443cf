// SPDX-License-Identifier: MIT
// A rank of a schedule: the part of the TCP fabric that owns connections, without its threads and its clock. Whoever
// schedules says what it does next; it remembers what it sent and got, and checks what it gets.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/inbox.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/offers.h"

namespace tacit::test {

// A schedule met what must not happen.
struct LawBroken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Messages of one sender, receiver and tag are numbered. Under kStrict they may have any size and are never given up, so
// that each must come; others begin with their number, and senders and receivers drop them.
struct Lot {
  static constexpr unsigned kTags = 3;
  static constexpr unsigned kStrict = 2;
  int from = 0;
  int to = 0;
  unsigned tag = 0;
  friend auto operator<=>(const Lot&, const Lot&) = default;

  Tag wire_tag() const { return {Tag::Channel::kExchange, Tag::Lane::kTrain, tag}; }
  std::string text() const;
  std::vector<std::byte> message(std::uint64_t number, std::size_t size) const;
};

struct SentMessage {
  Lot lot;
  std::uint64_t number = 0;
  std::vector<std::byte> data;
  Request request;  // none once dropped
  bool offered = false;
  bool optional = false;  // dropped under way: it may never arrive
  bool known = false;     // that it is done
};

struct AskedMessage {
  int from = kAnyRank;
  unsigned tag = 0;
  bool borrow = false;
  std::vector<std::byte> into;
  Request request;  // none once dropped
  bool known = false;
  bool blind = false;  // dropped after its message had come, without a look at it
  int got_from = kAnyRank;
  std::uint64_t got_number = 0;
  int lost_with = kAnyRank;  // its message was offered by this peer, which had given it up
};

class ScheduledRank final : public ConnectionOwner {
 public:
  // `go_on` lets others do something; false: nothing is left to do.
  ScheduledRank(int rank, int size, std::function<bool()> go_on);
  ~ScheduledRank() override;
  ScheduledRank(const ScheduledRank&) = delete;
  ScheduledRank& operator=(const ScheduledRank&) = delete;

  // With ring_bytes, and where it invites, frames leave the wire for rings of so many bytes.
  void connect(int peer, std::shared_ptr<Stream> stream, std::size_t most_at_once, bool invite,
               std::size_t ring_bytes = 0);
  bool by_ring(int peer) const { return connections_[static_cast<std::size_t>(peer)]->by_ring(); }
  bool connected(int peer) const { return connections_[static_cast<std::size_t>(peer)] != nullptr; }
  void give_up(int peer);  // as a fabric that has heard nothing of it for too long

  // What a rank does.
  void send(int peer, unsigned tag, std::size_t size, bool offer);
  void ask(int peer, unsigned tag, std::size_t size, bool borrow);
  void look(std::size_t which);  // as a thread that spins on its request
  void finish(AskedMessage& asked);
  bool finish_ready();  // says whether there was one
  void drop_asked(std::size_t which);
  void drop_sent(std::size_t which);
  void drop_all();

  boost::asio::io_context& io() { return io_; }
  int rank() const { return rank_; }
  bool blocked() const { return blocked_; }
  int lost(int peer) const { return lost_[static_cast<std::size_t>(peer)]; }
  const Ledger& ledger() const { return ledger_; }
  const std::list<SentMessage>& sent() const { return sent_; }
  const std::list<AskedMessage>& asked() const { return asked_; }
  // What an earlier call could not throw: stalls in destructors.
  const std::string& broken() const { return broken_; }
  // A request that ended without its owner looking: the owner sleeps, and somebody must have woken it.
  void check_wakes(const void* acted_on);
  // At rest: every send is done, and the ledger has what was sent.
  void check_rest(int peer, std::uint64_t bytes_out);

 private:
  bool done(Operation& request);

  // ConnectionOwner
  void wait(int peer, Tag tag, const std::atomic<bool>& done) override;
  bool ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) override;
  void wait_returned(int peer, const std::atomic<bool>& done) override;
  void between_reads(int peer, const std::function<void()>& fn) override;
  void on_control(int peer, const FrameHeader& header, ConstBytes payload) override;
  void on_lost(int peer, const std::string& why) override;
  void on_progress() override { ++progress_; }

  const int rank_;
  const std::function<bool()> go_on_;
  boost::asio::io_context io_;
  Ledger ledger_;
  Inbox inbox_{rank_, ledger_, *this};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Offers>> offers_;
  std::vector<std::uint64_t> bytes_before_;  // what the handshake sent
  std::vector<int> lost_;                    // how often each peer was
  std::list<SentMessage> sent_;
  std::list<AskedMessage> asked_;
  std::map<Lot, std::uint64_t> numbers_;
  std::uint64_t progress_ = 0;
  std::uint64_t progress_seen_ = 0;
  bool quiet_ = false;    // requests look at their flags alone
  bool blocked_ = false;  // in a destructor that waits
  std::string broken_;
};

}  // namespace tacit::test
