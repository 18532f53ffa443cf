// SPDX-License-Identifier: MIT
// Messages that come in while receives come and go, and offers that outlast the wish for them.
#include "transport/inbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/on_every_rank.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"

namespace tacit::test {
namespace {

constexpr Tag kTag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
constexpr int kPeer = 1;

// A transport in which nothing comes by itself.
class StillWaiter final : public Waiter {
 public:
  void wait(int, Tag, const std::atomic<bool>& done) override {
    if (!done.load()) throw Timeout("nothing came");
  }
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void between_reads(int, const std::function<void()>& fn) override { fn(); }
};

class InboxTest : public ::testing::Test {
 protected:
  std::shared_ptr<Message> announce(const std::string& text) {
    return inbox_.announce(kPeer, kTag, text.size(), 0);
  }
  // The next bytes of a message.
  static void fill(Message& message, const std::string& text) {
    copy<std::byte>(std::as_bytes(std::span(text)), message.landing.subspan(message.received, text.size()));
    message.received += text.size();
  }
  Request receive(std::string& into) {
    return inbox_.receive({kPeer, kTag, std::as_writable_bytes(std::span(into)), false});
  }
  Request borrow() { return inbox_.receive({kPeer, kTag, {}, true}); }
  static std::string text(const Arrival& arrival) {
    return {reinterpret_cast<const char*>(arrival.data.data()), arrival.data.size()};
  }

  Ledger ledger_{2, 0};
  StillWaiter waiter_;
  Inbox inbox_{0, ledger_, waiter_};
};

TEST_F(InboxTest, AMessageUnderWayGoesToTheReceiveThatWaitsAlready) {
  std::string first(9, '.');
  std::string second(9, '.');
  Request dropped = receive(first);
  const Request kept = receive(second);
  const auto message = announce("one by one");
  fill(*message, "one ");
  dropped.reset();
  fill(*message, "by one");
  inbox_.complete(message);
  EXPECT_THROW(kept->wait(), Mismatch);  // it is the one that came, and too long

  std::string third(20, '.');
  Request again = receive(first);
  const Request last = receive(third);
  const auto next = announce("two");
  fill(*next, "t");
  again.reset();
  first.assign(9, '!');
  fill(*next, "wo");
  inbox_.complete(next);
  EXPECT_EQ(text(last->wait()), "two");
  EXPECT_EQ(third.substr(0, 3), "two");  // in place
  EXPECT_EQ(first, "!!!!!!!!!");
}

TEST_F(InboxTest, AMessageUnderWayIsLentWhereALoanWaitsAlready) {
  std::string buffer(9, '.');
  Request dropped = receive(buffer);
  const Request loan = borrow();
  const Request later = borrow();
  const auto message = announce("one");
  fill(*message, "on");
  dropped.reset();
  fill(*message, "e");
  inbox_.complete(message);
  const auto next = announce("two");
  fill(*next, "two");
  inbox_.complete(next);
  EXPECT_EQ(text(loan->wait()), "one");
  EXPECT_EQ(text(later->wait()), "two");
}

TEST_F(InboxTest, AMessageUnderWayWaitsForTheNextReceiveWhereNoneWaits) {
  std::string buffer(9, '.');
  Request dropped = receive(buffer);
  const auto message = announce("one");
  fill(*message, "on");
  dropped.reset();
  fill(*message, "e");
  inbox_.complete(message);
  EXPECT_EQ(text(borrow()->wait()), "one");
}

TEST_F(InboxTest, OffersThatNobodyAskedForAreGivenBackAtTheEnd) {
  class Counted final : public Offer {
   public:
    explicit Counted(int& dropped) : dropped_(dropped) {}
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() override { ++dropped_; }
    std::uint64_t ticket() const override { return 1; }
    bool take(Bytes) override { return true; }

   private:
    int& dropped_;
  };
  int dropped = 0;
  ASSERT_TRUE(inbox_.offer(kPeer, kTag, 100, 0, std::make_unique<Counted>(dropped)));
  ASSERT_TRUE(inbox_.offer(kPeer, kTag, 100, 0, std::make_unique<Counted>(dropped)));
  EXPECT_EQ(dropped, 0);
  inbox_.clear();
  EXPECT_EQ(dropped, 2);
}

// The address sanitizer says whether the offer is given back through a connection that is gone.
TEST(TcpFabrics, MayEndBeforeALargeMessageWasAskedFor) {
  const TempDir folder;
  const std::vector<std::byte> large(std::size_t{1} << 20U);
  const auto other = [](std::uint32_t step) { return Tag(Tag::Channel::kExchange, Tag::Lane::kTrain, step); };
  run_ranks(2, [&](int rank) {
    TcpOptions options;
    options.rank = rank;
    options.size = 2;
    options.rendezvous = "file://" + (folder.path() / "meet").string();
    options.lost_after = Seconds(60);
    options.limits = test_limits();
    const auto fabric = open_tcp(std::move(options));
    Endpoint& ep = fabric->endpoint();
    const int peer = 1 - rank;
    // Afterwards both know whether memory can be shared.
    for (const int from : {0, 1})
      from == rank ? ep.isend(peer, other(1), {})->wait() : ep.irecv(peer, other(1), {})->wait();
    if (rank == 1) {
      ep.irecv(0, other(3), {})->wait();  // the large one was sent before
      fabric->leave({true, "it wants no more", kAnyRank});
      return;
    }
    const Request pending = ep.isend(1, other(2), large);
    ep.isend(1, other(3), {})->wait();
    try {
      ep.irecv(1, other(4), {})->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_NE(std::string(lost.what()).find("it wants no more"), std::string::npos) << lost.what();
    }
    fabric->leave({});
  });
}

}  // namespace
}  // namespace tacit::test
