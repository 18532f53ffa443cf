// SPDX-License-Identifier: MIT
// What every transport must do with waits that do not end by themselves: limits, lost ranks, interrupts.
#include <gtest/gtest.h>

#include <mutex>

#include "conformance/transports.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

class WaitConformance : public ::testing::TestWithParam<TransportCase> {};

TEST_P(WaitConformance, AWaitPastItsLimitNamesRankPeerAndExchange) {
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

TEST_P(WaitConformance, AStallIsReportedWhileTheWaitGoesOn) {
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

TEST_P(WaitConformance, WhoWaitsForALostPeerLearnsWhichAndWhy) {
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

TEST_P(WaitConformance, WhoSurvivesIsToldOfLossesAndGoesOnWithTheOthers) {
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
      const Request left = ep.irecv(other, Tag(Tag::Channel::kAllReduce, Tag::Lane::kTrain, 1), in);
      EXPECT_TRUE(left->ready_by(ep.clock().now()));
      left->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer, 2);
    }
    ep.isend(other, reply, pattern(kSmall, 4))->wait();
    EXPECT_EQ(ep.irecv(other, reply, in)->wait().data.size(), kSmall);
    EXPECT_EQ(ep.irecv(kAnyRank, reply, in)->ready_by(ep.clock().now()), false);
  });
}

TEST_P(WaitConformance, WaitAnyEndsWithALossToo) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    if (ep.rank() == 1) return me.leave(true, "its disk burned");
    std::vector<std::byte> in(kSmall);
    const Request hopeless = ep.irecv(1, tag(), in);
    Operation* const one = hopeless.get();
    ep.wait_any({&one, 1});
    EXPECT_THROW(hopeless->wait(), PeerLost);
  });
}

TEST_P(WaitConformance, WhatAPeerSentBeforeItLeftStillArrives) {
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

TEST_P(WaitConformance, ARankThatFailsByItselfIsLostWithItsReason) {
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

TEST_P(WaitConformance, ARankThatHasFailedWaitsForNobody) {
  GetParam().run(2, test_limits(), [](TestRank& me) {
    Endpoint& ep = me.endpoint;
    if (ep.rank() == 0) {
      EXPECT_THROW(ep.irecv(1, tag(), {})->wait(), PeerLost);
      return;
    }
    ep.fail(std::make_exception_ptr(Mismatch("on purpose")));
    for (const int peer : {0, kAnyRank}) {
      try {
        ep.irecv(peer, tag(), {})->wait();
        ADD_FAILURE() << "nothing was sent";
      } catch (const PeerLost& lost) {
        EXPECT_EQ(lost.peer, 1) << lost.what();
      }
    }
  });
}

TEST_P(WaitConformance, ALargeSendToAPeerThatLeavesEndsWithALoss) {
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

TEST_P(WaitConformance, AnInterruptEndsTheWaitsOfItsRank) {
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

INSTANTIATE_TEST_SUITE_P(All, WaitConformance, ::testing::ValuesIn(all_transports()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tacit::test
