// SPDX-License-Identifier: MIT
// What every transport must do. Each test is a body that all ranks run, so that they may be threads, processes or simulated machines; a new
// transport adds one row to all_transports().
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <numeric>

#include "conformance/transports.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr std::size_t kSmall = 100;                  // below every transport's eager limit
constexpr std::size_t kLarge = 3 * 1024 * 1024 + 7;  // above it

Tag tag(std::uint32_t step = 0, std::uint16_t part = 0) {
  return {Tag::Channel::kExchange, Tag::Lane::kTrain, step, part};
}

std::vector<std::byte> pattern(std::size_t size, int seed) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
  return data;
}

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

TEST_P(EndpointConformance, AWaitPastItsLimitNamesRankPeerAndExchange) {
  GetParam().run(2, {Seconds(0.2), Seconds(20), nullptr}, [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 1) return (void)ep.irecv(kAnyRank, tag(99), in)->wait();  // stays until rank 0 is done
    try {
      ep.irecv(1, tag(17, 2), in)->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const Timeout& error) {
      EXPECT_NE(std::string(error.what()).find("rank 0 waits for rank 1 in exchange 17, part 2"),
                std::string::npos)
          << error.what();
    }
    ep.isend(1, tag(99), {})->wait();
  });
}

TEST_P(EndpointConformance, AStallIsReportedWhileTheWaitGoesOn) {
  std::mutex mutex;
  std::string said;  // every line; a transport may say more than that one waits
  const auto all_said = [&] {
    const std::lock_guard lock(mutex);
    return said;
  };
  const std::string complaint = "rank 0 waits for rank 1 in exchange 5";
  const auto report = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    said += line + "\n";
  };
  GetParam().run(2, {Seconds(60), Seconds(0.05), report}, [&](TestRank& me) {
    Endpoint& ep = me.endpoint;
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 1) {  // answers once rank 0 has complained: no time is assumed
      ep.irecv(kAnyRank, tag(99), {})->wait();
      return (void)ep.isend(0, tag(5), in)->wait();
    }
    run_tasks(me.tasks, 2, [&](int task) {
      if (task == 0) return (void)ep.irecv(1, tag(5), in)->wait();
      while (all_said().find(complaint) == std::string::npos) ep.clock().sleep(Seconds(0.001));
      ep.isend(1, tag(99), {})->wait();
    });
  });
}

TEST_P(EndpointConformance, WhoWaitsForALostPeerLearnsWhichAndWhy) {
  GetParam().run(3, test_limits(), [](TestRank& me) {
    const int rank = me.endpoint.rank();
    if (rank == 2) return me.leave(true, "its disk burned");
    std::vector<std::byte> in(kSmall);
    try {
      me.endpoint.irecv(rank == 0 ? 2 : kAnyRank, tag(), in)->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.rank, rank);
      EXPECT_EQ(lost.peer, 2);
      EXPECT_NE(std::string(lost.what()).find("its disk burned"), std::string::npos) << lost.what();
    }
  });
}

TEST_P(EndpointConformance, WhoSurvivesIsToldOfLossesAndGoesOnWithTheOthers) {
  GetParam().run(3, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    try {
      ep.survive();
    } catch (const InvalidConfig&) {
      return;  // this transport ends with its first rank
    }
    EXPECT_TRUE(ep.survives());
    if (ep.rank() == 2) return me.leave(true, "its disk burned");
    const Tag news(Tag::Channel::kRequest, Tag::Lane::kTrain, 7);
    ep.tell_departures(news);
    std::vector<std::byte> in(kSmall);
    const Arrival told = ep.irecv(kAnyRank, news, in)->wait();
    EXPECT_EQ(told.peer, 2);
    EXPECT_TRUE(told.data.empty());
    EXPECT_FALSE(ep.here(2));
    ASSERT_EQ(ep.losses().size(), 1U);
    EXPECT_EQ(ep.losses()[0].rank, 2);
    EXPECT_NE(ep.losses()[0].why.find("its disk burned"), std::string::npos) << ep.losses()[0].why;

    const int other = 1 - ep.rank();
    const Tag reply(Tag::Channel::kReply, Tag::Lane::kTrain, 1);
    try {  // the other may have left it because of the loss
      ep.irecv(other, Tag(Tag::Channel::kAllReduce, Tag::Lane::kTrain, 1), in)->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer, 2);
    }
    ep.isend(other, reply, pattern(kSmall, 4))->wait();
    EXPECT_EQ(ep.irecv(other, reply, in)->wait().data.size(), kSmall);
    EXPECT_EQ(ep.irecv(kAnyRank, reply, in)->ready_by(ep.clock().now()), false);
  });
}

TEST_P(EndpointConformance, WhatAPeerSentBeforeItLeftStillArrives) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    if (ep.rank() == 1) {
      ep.isend(0, tag(), pattern(kSmall, 9))->wait();
      return me.leave(false, "its program ended");
    }
    std::vector<std::byte> in(kSmall);
    ep.irecv(1, tag(), in)->wait();
    EXPECT_EQ(in, pattern(kSmall, 9));
    EXPECT_THROW(ep.irecv(1, tag(), in)->wait(), PeerLost);
  });
}

TEST_P(EndpointConformance, ARankThatFailsByItselfIsLostWithItsReason) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    if (ep.rank() == 1) return ep.fail(std::make_exception_ptr(Mismatch("on purpose")));
    try {
      ep.irecv(1, tag(), {})->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer, 1);
      EXPECT_NE(std::string(lost.what()).find("its agent failed: on purpose"), std::string::npos)
          << lost.what();
    }
  });
}

TEST_P(EndpointConformance, ALargeSendToAPeerThatLeavesEndsWithALoss) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    if (me.endpoint.rank() == 1) return me.leave(true, "its disk burned");
    const auto data = pattern(kLarge, 0);
    try {  // a transport that has taken the bytes along may say that they are sent
      me.endpoint.isend(1, tag(), data)->wait();
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer, 1);
    }
    EXPECT_THROW(me.endpoint.irecv(1, tag(1), {})->wait(), PeerLost);
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

TEST_P(EndpointConformance, AnInterruptEndsTheWaitsOfItsRank) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    if (ep.rank() == 1) {
      try {
        ep.irecv(kAnyRank, tag(99), {})->wait();  // stays until rank 0 is done
      } catch (const Interrupted&) {              // where all ranks are in one process
      }
      return;
    }
    run_tasks(me.tasks, 3, [&](int task) {
      if (task == 2) return me.interrupt();
      EXPECT_THROW(ep.irecv(task == 0 ? 1 : kAnyRank, tag(), {})->wait(), Interrupted);
    });
    EXPECT_TRUE(ep.irecv(1, tag(), {})->ready_by(ep.clock().now()));  // from now on, too
    ep.isend(1, tag(99), {})->wait();
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
