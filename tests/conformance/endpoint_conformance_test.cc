// SPDX-License-Identifier: MIT
// What every transport must do with messages. Each test is a body that all ranks run, so that they may be threads,
// processes or simulated machines; a new transport adds one row to all_transports().
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "conformance/transports.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

class EndpointConformance : public ::testing::TestWithParam<TransportCase> {
 protected:
  void on_every_rank(int ranks, const std::function<void(Endpoint&)>& body) {
    GetParam().run(ranks, test_limits(), [&](TestRank& me) { body(me.endpoint); });
  }
};

TEST_P(EndpointConformance, EveryRankReachesEveryRankIncludingItself) {
  for (const std::size_t size : {std::size_t{0}, kSmall, kLarge}) {
    on_every_rank(3, [&](Endpoint& ep) {
      const auto mine = pattern(size, ep.rank());
      std::vector<std::vector<std::byte>> in(3, std::vector<std::byte>(size));
      std::vector<Request> requests;
      for (int peer = 0; peer < 3; ++peer)
        requests.push_back(ep.irecv(peer, tag(), in[static_cast<std::size_t>(peer)]));
      for (int peer = 0; peer < 3; ++peer) requests.push_back(ep.isend(peer, tag(), mine));
      for (const Request& r : requests) r->wait();
      for (int peer = 0; peer < 3; ++peer) EXPECT_EQ(in[static_cast<std::size_t>(peer)], pattern(size, peer));
    });
  }
}

TEST_P(EndpointConformance, EqualTagsKeepTheirOrder) {
  on_every_rank(2, [](Endpoint& ep) {
    for (int i = 0; i < 100; ++i) {
      int value = ep.rank() == 0 ? i : -1;
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      if (ep.rank() == 0) {
        ep.isend(1, tag(), bytes)->wait();
      } else {
        ep.irecv(0, tag(), bytes)->wait();
        EXPECT_EQ(value, i);
      }
    }
  });
}

TEST_P(EndpointConformance, SmallMessagesDoNotOvertakeLargeOnesOfTheSameTag) {
  on_every_rank(2, [](Endpoint& ep) {
    const auto large = pattern(kLarge, 1);
    const auto small = pattern(kSmall, 2);
    if (ep.rank() == 0) {
      const Request a = ep.isend(1, tag(), large);
      const Request b = ep.isend(1, tag(), small);
      a->wait();
      b->wait();
    } else {
      std::vector<std::byte> in(kLarge);
      EXPECT_EQ(ep.irecv(0, tag(), in)->wait().data.size(), kLarge);
      EXPECT_EQ(ep.irecv(0, tag(), in)->wait().data.size(), kSmall);
    }
  });
}

TEST_P(EndpointConformance, TagsAreToldApartWhateverTheOrder) {
  on_every_rank(2, [](Endpoint& ep) {
    if (ep.rank() == 0) {
      for (const std::uint16_t p : std::array<std::uint16_t, 3>{2, 0, 1})
        ep.isend(1, tag(7, p), pattern(kSmall, p))->wait();
    } else {
      for (const std::uint16_t p : std::array<std::uint16_t, 3>{0, 1, 2}) {
        std::vector<std::byte> in(kSmall);
        ep.irecv(0, tag(7, p), in)->wait();
        EXPECT_EQ(in, pattern(kSmall, p));
      }
    }
  });
}

TEST_P(EndpointConformance, ABorrowedMessageIsReadableUntilItIsDropped) {
  for (const std::size_t size : {kSmall, kLarge}) {
    on_every_rank(2, [&](Endpoint& ep) {
      const auto mine = pattern(size, ep.rank());
      const int peer = 1 - ep.rank();
      Request in = ep.iborrow(peer, tag());
      const Request out = ep.isend(peer, tag(), mine);
      const Arrival arrival = in->wait();
      EXPECT_EQ(arrival.peer, peer);
      const auto expected = pattern(size, peer);
      EXPECT_TRUE(std::equal(arrival.data.begin(), arrival.data.end(), expected.begin(), expected.end()));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrival.data.data()) % alignof(double), 0U);
      in.reset();
      out->wait();
    });
  }
}

TEST_P(EndpointConformance, AReceiveFromAnyRankSaysWhoSent) {
  on_every_rank(4, [](Endpoint& ep) {
    if (ep.rank() != 0) return (void)ep.isend(0, tag(), pattern(kSmall, ep.rank()))->wait();
    std::vector<bool> seen(4);
    for (int i = 0; i < 3; ++i) {
      std::vector<std::byte> in(kSmall);
      const int from = ep.irecv(kAnyRank, tag(), in)->wait().peer;
      EXPECT_EQ(in, pattern(kSmall, from));
      seen[static_cast<std::size_t>(from)] = true;
    }
    EXPECT_EQ(seen, (std::vector<bool>{false, true, true, true}));
  });
}

TEST_P(EndpointConformance, AMessageLongerThanTheBufferIsRefusedAndHarmsNobody) {
  for (const std::size_t size : {kSmall, kLarge}) {
    on_every_rank(2, [&](Endpoint& ep) {
      const auto data = pattern(size, 0);
      if (ep.rank() == 0) {
        ep.isend(1, tag(), data)->wait();
        ep.isend(1, tag(1), data)->wait();
      } else {
        std::vector<std::byte> in(size - 1, std::byte{7});
        EXPECT_THROW(ep.irecv(0, tag(), in)->wait(), Mismatch);
        std::vector<std::byte> whole(size);
        ep.irecv(0, tag(1), whole)->wait();
        EXPECT_EQ(whole, data);
      }
    });
  }
}

TEST_P(EndpointConformance, ADroppedReceiveLeavesItsMessageToTheNext) {
  on_every_rank(2, [](Endpoint& ep) {
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 1) {
      { const Request dropped = ep.irecv(0, tag(), in); }
      ep.isend(0, tag(1), {})->wait();
      ep.irecv(0, tag(), in)->wait();
      EXPECT_EQ(in, pattern(kSmall, 3));
    } else {
      ep.irecv(1, tag(1), {})->wait();
      ep.isend(1, tag(), pattern(kSmall, 3))->wait();
    }
  });
}

TEST_P(EndpointConformance, ReadyBySaysWhetherWaitWouldReturn) {
  on_every_rank(2, [](Endpoint& ep) {
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 0) {
      const Request r = ep.irecv(1, tag(), in);
      EXPECT_FALSE(r->ready_by(ep.clock().now()));
      ep.isend(1, tag(1), {})->wait();
      EXPECT_TRUE(r->ready_by(ep.clock().now() + Seconds(30)));
      r->wait();
    } else {
      ep.irecv(0, tag(1), {})->wait();
      ep.isend(0, tag(), pattern(kSmall, 1))->wait();
    }
  });
}

TEST_P(EndpointConformance, WaitAnyEndsWithTheFirstThatIsReady) {
  on_every_rank(3, [](Endpoint& ep) {
    if (ep.rank() > 0) {  // rank 2 sends when rank 0 has what rank 1 sends
      if (ep.rank() == 2) ep.irecv(0, tag(1), {})->wait();
      ep.isend(0, tag(), pattern(kLarge, ep.rank()))->wait();
      return;
    }
    const Request late = ep.iborrow(2, tag());
    const Request soon = ep.iborrow(1, tag());
    const std::vector<Operation*> both{late.get(), soon.get()};
    ep.wait_any(both);
    EXPECT_TRUE(soon->ready());
    EXPECT_FALSE(late->ready());
    EXPECT_EQ(soon->wait().data.size(), kLarge);
    ep.wait_any(both);  // at once
    ep.isend(2, tag(1), {})->wait();
    ep.wait_any({both.data(), 1});
    EXPECT_TRUE(late->ready());
    EXPECT_EQ(late->wait().data.size(), kLarge);
  });
}

TEST_P(EndpointConformance, TheLedgerCountsWhatWasSentAndReceived) {
  on_every_rank(3, [](Endpoint& ep) {
    const int next = (ep.rank() + 1) % 3;
    const int prev = (ep.rank() + 2) % 3;
    for (const std::size_t size : {kSmall, kLarge}) {
      std::vector<std::byte> in(size);
      const Request r = ep.irecv(prev, tag(), in);
      ep.isend(next, tag(), pattern(size, 0))->wait();
      r->wait();
    }
    const Traffic sent = ep.ledger().sent(next, Tag::Lane::kTrain);
    EXPECT_EQ(sent.messages, 2U);
    EXPECT_EQ(sent.payload, kSmall + kLarge);
    EXPECT_EQ(ep.ledger().received(prev, Tag::Lane::kTrain).payload, kSmall + kLarge);
    EXPECT_EQ(ep.ledger().sent(prev, Tag::Lane::kTrain).messages, 0U);
    EXPECT_EQ(ep.ledger().sent(Tag::Lane::kControl).messages, 0U);
    EXPECT_EQ(ep.ledger().sent(Tag::Lane::kTrain), sent);
  });
}

TEST_P(EndpointConformance, SeveralTasksOfARankMayUseItAtOnce) {
  constexpr int kTasks = 4;
  constexpr int kRounds = 200;
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    run_tasks(me.tasks, kTasks, [&](int task) {
      const int peer = 1 - ep.rank();
      for (int i = 0; i < kRounds; ++i) {
        int in = -1;
        const int out = task * kRounds + i;
        const Tag t = tag(static_cast<std::uint32_t>(task));
        const Request r = ep.irecv(peer, t, std::as_writable_bytes(std::span(&in, 1)));
        ep.isend(peer, t, std::as_bytes(std::span(&out, 1)))->wait();
        r->wait();
        ASSERT_EQ(in, out);
      }
    });
  });
}

TEST_P(EndpointConformance, ASenderThatGivesUpALargeMessageIsNotReadAfterwards) {
  on_every_rank(2, [](Endpoint& ep) {
    if (ep.rank() == 0) {
      auto gone = pattern(kLarge, 1);
      Request dropped = ep.isend(1, tag(), gone);
      dropped.reset();
      std::fill(gone.begin(), gone.end(), std::byte{0});
      return (void)ep.isend(1, tag(), pattern(kSmall, 2))->wait();
    }
    std::vector<std::byte> in(kLarge);
    std::size_t size = ep.irecv(0, tag(), in)->wait().data.size();
    if (size == kLarge) {  // it was under way; then it is whole
      EXPECT_EQ(in, pattern(kLarge, 1));
      size = ep.irecv(0, tag(), in)->wait().data.size();
    }
    EXPECT_EQ(size, kSmall);
  });
}

TEST_P(EndpointConformance, LargeMessagesThatNobodyAskedForYetAreKeptInOrder) {
  constexpr int kMessages = 5;
  on_every_rank(3, [](Endpoint& ep) {
    std::vector<std::vector<std::byte>> out;
    std::vector<Request> sends;
    for (int i = 0; i < kMessages; ++i) out.push_back(pattern(kLarge, 10 * ep.rank() + i));
    for (int peer = 0; peer < 3; ++peer)
      for (const auto& each : out) sends.push_back(ep.isend(peer, tag(), each));
    std::vector<std::byte> in(kLarge);
    for (int peer = 2; peer >= 0; --peer)
      for (int i = 0; i < kMessages; ++i) {
        ep.irecv(peer, tag(), in)->wait();
        EXPECT_EQ(in, pattern(kLarge, 10 * peer + i));
      }
    for (const Request& each : sends) each->wait();
  });
}

TEST_P(EndpointConformance, AReceiveThatIsDroppedHalfwayNeitherTearsNorReordersMessages) {
  constexpr int kRounds = 10;
  on_every_rank(2, [](Endpoint& ep) {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const auto first = pattern(kLarge, 1);
      const auto second = pattern(kLarge, 2);
      if (ep.rank() == 0) {
        const Request a = ep.isend(1, tag(round), first);
        const Request b = ep.isend(1, tag(round), second);
        a->wait();
        b->wait();
        continue;
      }
      std::vector<std::byte> scratch(kLarge);
      {
        const Request dropped = ep.irecv(0, tag(round), scratch);
        dropped->ready_by(ep.clock().now() + Seconds(0.0001 * round));
      }
      std::fill(scratch.begin(), scratch.end(), std::byte{0});
      std::vector<std::byte> in(kLarge);
      ep.irecv(0, tag(round), in)->wait();
      if (in != second) {  // the dropped receive had not taken the first one
        EXPECT_EQ(in, first);
        ep.irecv(0, tag(round), in)->wait();
      }
      EXPECT_EQ(in, second);
      EXPECT_EQ(scratch, std::vector<std::byte>(kLarge)) << "a dropped receive's buffer was written to";
    }
  });
}

TEST_P(EndpointConformance, ARankThatDoesNotExistIsABug) {
  on_every_rank(2, [](Endpoint& ep) {
    EXPECT_THROW(ep.isend(2, tag(), {}), Bug);
    EXPECT_THROW(ep.irecv(-2, tag(), {}), Bug);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EndpointConformance, ::testing::ValuesIn(all_transports()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tacit::test
