// SPDX-License-Identifier: MIT
// Times are compared with others that the test takes around or within them, so that a busy machine changes nothing.
#include "transport/wait_tally.h"

#include <gtest/gtest.h>

#include <array>

#include "support/on_every_rank.h"
#include "transport/inbox.h"

namespace tacit::test {
namespace {

constexpr Tag kTag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
constexpr Seconds kMoment{0.002};

Seconds now() { return RealClock().now(); }
void pass_a_moment() { RealClock().sleep(kMoment); }

template <class Fn>
Seconds counted(const Fn& fn) {
  const Seconds before = WaitTally::mine()->total();
  fn();
  return WaitTally::mine()->total() - before;
}

TEST(WaitTally, CountsABlockedTaskUntilSomethingIsUnderWay) {
  Seconds begun{0};
  const Seconds start = now();
  const Seconds waited = counted([&] {
    Blocked blocked;
    pass_a_moment();
    begun = now();
    pass_a_moment();
    blocked.under_way_since(begun);
  });
  EXPECT_GE(waited, kMoment);
  EXPECT_LE(waited, begun - start);
}

TEST(WaitTally, CountsNothingWhereItWasUnderWayBefore) {
  const Seconds waited = counted([] {
    Blocked blocked;
    pass_a_moment();
    blocked.under_way_since(Seconds(0));
  });
  EXPECT_EQ(waited, Seconds(0));
}

TEST(WaitTally, OtherThreadsHaveTheirOwn) {
  const Seconds waited = counted([] {
    run_ranks(2, [](int) {
      EXPECT_GE(counted([] {
                  const Blocked blocked;
                  pass_a_moment();
                }),
                kMoment);
    });
  });
  EXPECT_EQ(waited, Seconds(0));
}

TEST(WaitTally, WhoeverIsBehindAnotherTaskWaitsWhileThatOneDoes) {
  TaskTally other;
  EXPECT_EQ(other.total(), Seconds(0));
  other.publish();
  const Seconds start = now();
  const Seconds waited = counted([&] {
    const BlockedBehind behind(other);
    pass_a_moment();  // it does something
    const Blocked blocked;
    pass_a_moment();
  });
  // Its own tally is that of the other here, so that what it waited counts twice.
  EXPECT_GE(waited, 2 * kMoment);
  EXPECT_LE(waited, 2 * (now() - start - kMoment));
}

// A transport whose message comes in two parts while somebody waits for it.
class SlowWaiter final : public Waiter {
 public:
  void wait(int, Tag, const std::atomic<bool>& done) override {
    pass_a_moment();
    announced_before = now();
    const auto message = inbox->announce(1, kTag, 1, 0);
    announced_after = now();
    pass_a_moment();
    message->landing[0] = std::byte{7};
    message->received = 1;
    inbox->complete(message);
    EXPECT_TRUE(done.load());
  }
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void between_reads(int, const std::function<void()>& fn) override { fn(); }

  Inbox* inbox = nullptr;
  Seconds announced_before{0};
  Seconds announced_after{0};
};

TEST(WaitTally, AReceiveWaitsUntilTheHeadOfItsMessageHasCome) {
  Ledger ledger(2, 0);
  SlowWaiter waiter;
  Inbox inbox(0, ledger, waiter);
  waiter.inbox = &inbox;
  std::array<std::byte, 1> into{};
  const Request receive = inbox.receive({1, kTag, into, false});
  const Seconds start = now();
  const Seconds waited = counted([&] { receive->wait(); });
  EXPECT_EQ(into[0], std::byte{7});
  EXPECT_GE(waited, kMoment);
  EXPECT_LE(waited, waiter.announced_after - start);
  EXPECT_EQ(counted([&] { receive->wait(); }), Seconds(0)) << "what has come is not waited for";
}

TEST(WaitTally, AThreadThatWaitsForAnothersMessageCountsIt) {
  InprocFabric fabric(2, test_limits());
  TaskTally receiver;
  run_ranks(2, [&](int rank) {
    std::array<std::byte, 1> byte{};
    if (rank == 1) {
      receiver.publish();
      EXPECT_GT(counted([&] { fabric.endpoint(1).irecv(0, kTag, byte)->wait(); }), Seconds(0));
      EXPECT_EQ(counted([&] { fabric.endpoint(1).isend(1, kTag, byte)->wait(); }), Seconds(0));
      return;
    }
    const Seconds limit = now() + Seconds(60);
    while (receiver.total() == Seconds(0) && now() < limit) pass_a_moment();
    fabric.endpoint(0).isend(1, kTag, byte)->wait();
  });
}

}  // namespace
}  // namespace tacit::test
