// SPDX-License-Identifier: MIT
// Cuts, stops and late messages: what they do to messages and actors, and what ranks come to know of each other.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/fabric.h"
#include "support/simulate.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

const Tag kTag(Tag::Channel::kExchange, Tag::Lane::kTrain, 0);

Cluster with_cut(int workers, const Cut& cut) {
  Cluster cluster = flat(workers);
  cluster.cuts.push_back(cut);
  return cluster;
}

// When rank 1 has each of the numbers that rank 0 sends it at 1 s, 2 s and 3 s, and whether they came in this order.
void expect_arrivals(const Cluster& cluster, const std::vector<double>& expected, Tag tag = kTag) {
  in_child([&] {
    SimFabric fabric(cluster, 1, {without_limits().limits, Seconds(1000)});
    fabric.run([&](int rank) {
      Endpoint& ep = fabric.endpoint(rank);
      for (int i = 0; i < 3; ++i) {
        std::array<int, 1> number{i};
        if (rank == 0) {
          ep.clock().sleep(Seconds(1));
          ep.isend(1, tag, std::as_bytes(std::span(number)))->wait();
        } else {
          ep.irecv(0, tag, std::as_writable_bytes(std::span(number)))->wait();
          EXPECT_EQ(number[0], i);
          EXPECT_NEAR(ep.clock().now().count(), expected[static_cast<std::size_t>(i)], 0.001) << i;
        }
      }
      fabric.leave(rank, {false, "its test ended"});
    });
  });
}

TEST(SimulatedCut, HoldsMessagesBackAndTheyArriveInOrderOnceItHasHealed) {
  expect_arrivals(with_cut(2, {{0}, {1}, true, Seconds(0.5), Seconds(2.5)}), {2.5, 2.5, 3});
}

TEST(SimulatedCut, HoldsTheControlLaneBackToo) {
  const Tag control(Tag::Channel::kExchange, Tag::Lane::kControl, 0);
  expect_arrivals(with_cut(2, {{1}, {0}, true, Seconds(0.5), Seconds(2.5)}), {2.5, 2.5, 3}, control);
}

TEST(SimulatedCut, InOneDirectionLetsTheOtherThrough) {
  expect_arrivals(with_cut(2, {{1}, {0}, false, Seconds(0.5), Seconds(10)}), {1, 2, 3});
  expect_arrivals(with_cut(2, {{0}, {1}, false, Seconds(0.5), Seconds(10)}), {10, 10, 10});
}

TEST(SimulatedCut, HoldsWhatWasUnderWayWhenItBegan) {
  Cluster cluster = with_cut(2, {{0}, {1}, true, Seconds(1.00001), Seconds(1.5)});
  expect_arrivals(cluster, {1.5, 2, 3});
}

TEST(LateMessages, HoldBackThoseBehindThem) {
  Cluster cluster = flat(2);
  cluster.late.push_back({{0}, {1}, Seconds(0), Seconds(1.5), 1, Seconds(1.7)});
  expect_arrivals(cluster, {2.7, 2.7, 3});
}

TEST(LateMessages, ThatAreLostAreSentAgainAfterTimesThatDouble) {
  Cluster cluster = flat(2);
  cluster.late.push_back({{}, {}, Seconds(0), Seconds(1.5), 1, std::nullopt});
  const double six_losses = 0.2 * (1 + 2 + 4 + 8 + 16 + 32);
  expect_arrivals(cluster, {1 + six_losses, 1 + six_losses, 1 + six_losses});
}

TEST(LateMessages, AreTheShareThatWasAskedForAndTheSameForTheSameSeed) {
  Cluster cluster = flat(2);
  cluster.late.push_back({{}, {}, Seconds(0), kNever, 0.25, Seconds(0.5)});
  const auto late = [&](std::uint64_t seed) {
    return std::stoi(from_child([&] {
      int count = 0;
      SimFabric fabric(cluster, seed, {without_limits().limits});
      fabric.run([&](int rank) {
        Endpoint& ep = fabric.endpoint(rank);
        std::array<std::byte, 8> x{};
        for (int i = 0; i < 200; ++i) {
          if (rank == 0) {
            ep.isend(1, kTag, x)->wait();
            ep.clock().sleep(Seconds(1));
          } else {
            ep.irecv(0, kTag, x)->wait();
            count += ep.clock().now() > Seconds(i + 0.4) ? 1 : 0;
          }
        }
      });
      return std::to_string(count);
    }));
  };
  EXPECT_GT(late(1), 25);
  EXPECT_LT(late(1), 75);
  EXPECT_EQ(late(1), late(1));
  EXPECT_NE(late(1), late(3));
}

TEST(SimulatedStop, OfARankKeepsItsActorsStillUntilItIsContinued) {
  Cluster cluster = flat(2);
  cluster.stops.push_back({1, Seconds(1.5), Seconds(7)});
  simulate(cluster, [](Process& me) {
    Clock& clock = me.tasks().clock();
    const auto task = me.tasks().spawn("ticks", [&] {
      for (int i = 0; i < 20; ++i) {
        clock.sleep(Seconds(0.5));
        EXPECT_TRUE(me.rank() == 0 || clock.now() <= Seconds(1.5) || clock.now() >= Seconds(7));
      }
    });
    clock.sleep(Seconds(2));
    EXPECT_EQ(clock.now(), Seconds(me.rank() == 0 ? 2 : 7));
    task->join();
  });
}

TEST(SimulatedStop, LetsMessagesWait) {
  Cluster cluster = flat(2);
  cluster.stops.push_back({1, Seconds(0.5), Seconds(2.5)});
  expect_arrivals(cluster, {2.5, 2.5, 3});
}

TEST(SimulatedStop, MakesTheSenderOfALargeMessageWait) {
  Cluster cluster = flat(2);
  cluster.stops.push_back({1, Seconds(0.5), Seconds(2.5)});
  in_child([&] {
    SimFabric fabric(cluster, 1, {without_limits().limits, Seconds(1000)});
    fabric.run([&](int rank) {
      Endpoint& ep = fabric.endpoint(rank);
      std::vector<std::byte> data(100'000);
      ep.clock().sleep(Seconds(1));
      rank == 0 ? ep.isend(1, kTag, data)->wait() : ep.irecv(0, kTag, data)->wait();
      EXPECT_NEAR(ep.clock().now().count(), 2.5, 0.001);
      fabric.leave(rank, {false, "its test ended"});
    });
  });
}

// Ranks that meet every second for a minute, and how each ends.
struct Meetings {
  std::vector<bool> finished;
  std::vector<int> blamed;  // -1: nobody
  std::vector<std::vector<int>> lost;
};
void meet(const Cluster& cluster, bool survive, const std::function<void(const Meetings&)>& after) {
  in_child([&] {
    const auto ranks = static_cast<std::size_t>(cluster.workers);
    Meetings m{std::vector<bool>(ranks), std::vector<int>(ranks, -1), std::vector<std::vector<int>>(ranks)};
    WorldOptions options = without_limits();
    options.survive = survive;
    options.lost_after = Seconds(5);
    World world = World::simulated(cluster, 1, options);
    try {
      world.run([&](Process& me) {
        const auto rank = static_cast<std::size_t>(me.rank());
        try {
          for (int i = 0; i < 60; ++i) {
            me.tasks().clock().sleep(Seconds(1));
            me.comm().barrier();
          }
          m.finished[rank] = true;
          for (const Loss& loss : me.comm().losses()) m.lost[rank].push_back(loss.rank);
        } catch (const PeerLost& lost) {
          m.blamed[rank] = lost.peer;
          throw;
        }
      });
    } catch (const PeerLost&) {
      EXPECT_EQ(std::count(m.finished.begin(), m.finished.end(), true), 0);
    }
    after(m);
  });
}

TEST(SimulatedFaults, ARankThatIsCutOffEndsAndTheMajorityGoesOn) {
  meet(with_cut(3, {{2}, {0, 1}, true, Seconds(3.5), Seconds(20)}), true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, true, false}));
    EXPECT_EQ(m.lost[0], std::vector<int>{2});
    EXPECT_EQ(m.blamed[2], 2) << "who is cut off blames no innocent";
  });
}

TEST(SimulatedFaults, OfTwoThatCannotHearEachOtherTheHigherGoes) {
  meet(with_cut(4, {{1}, {2}, true, Seconds(3.5)}), true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, true, false, true}));
    EXPECT_EQ(m.lost[1], std::vector<int>{2});
    EXPECT_EQ(m.blamed[2], 2);
  });
}

TEST(SimulatedFaults, OfTwoHalvesTheOneWithTheLowestRankGoesOn) {
  meet(with_cut(4, {{0, 3}, {1, 2}, true, Seconds(3.5)}), true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, false, false, true}));
    EXPECT_EQ(m.lost[3], (std::vector<int>{1, 2}));
  });
}

TEST(SimulatedFaults, ARankThatWasStoppedTooLongEndsWhenItGoesOn) {
  Cluster cluster = flat(3);
  cluster.stops.push_back({0, Seconds(3.5), Seconds(30)});
  meet(cluster, true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{false, true, true}));
    EXPECT_EQ(m.blamed[0], 0);
    EXPECT_EQ(m.lost[1], std::vector<int>{0});
  });
}

TEST(SimulatedFaults, ARankThatIsStoppedForGoodIsEndedWithTheRun) {
  Cluster cluster = flat(3);
  cluster.stops.push_back({1, Seconds(3.5)});
  meet(cluster, true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, false, true}));
  });
}

TEST(SimulatedFaults, ThatAreShortLoseNobody) {
  Cluster cluster = with_cut(3, {{2}, {0, 1}, true, Seconds(3.5), Seconds(6)});
  cluster.stops.push_back({1, Seconds(10), Seconds(13)});
  meet(cluster, true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, true, true}));
    EXPECT_TRUE(m.lost[0].empty() && m.lost[1].empty() && m.lost[2].empty());
  });
}

TEST(SimulatedFaults, WhereLossesEndTheRunAllNameTheOneThatWasLost) {
  Cluster cluster = flat(4);
  cluster.stops.push_back({2, Seconds(3.5), Seconds(30)});
  meet(cluster, false, [](const Meetings& m) { EXPECT_EQ(m.blamed, (std::vector<int>{2, 2, 2, 2})); });
}

TEST(SimulatedFaults, ACrashBehindACutIsKnownWhenItHasHealedOrTheSilenceIsTooLong) {
  Cluster cluster = with_cut(3, {{2}, {0}, true, Seconds(3.5), Seconds(6)});
  cluster.crashes.push_back({2, Seconds(4)});
  meet(cluster, true, [](const Meetings& m) {
    EXPECT_EQ(m.finished, (std::vector<bool>{true, true, false}));
    EXPECT_EQ(m.lost[0], std::vector<int>{2});
  });
}

TEST(SimulatedFaults, ADeadLockIsFoundBesideHeartbeats) {
  Cluster cluster = flat(2);
  cluster.stops.push_back({1, Seconds(1), Seconds(2)});
  simulate_failing<Error>(cluster, {"dead-lock", "rank 0 waits for rank 1 in exchange"}, [](Process& me) {
    std::array<std::byte, 8> x{};
    me.rank() == 0 ? me.comm().exchange(1, x, x) : me.comm().broadcast(x, 0);
  });
}

}  // namespace
}  // namespace tacit::test
