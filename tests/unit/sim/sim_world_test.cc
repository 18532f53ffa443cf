// SPDX-License-Identifier: MIT
// Ranks in virtual time: what they send, how long it takes, how it ends.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "sim/fabric.h"
#include "support/simulate.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"
#include "tacit/core/space.h"

namespace tacit::test {
namespace {

constexpr double kLatency = 100e-6;  // of flat(), from worker to worker
constexpr double kBandwidth = 125e6;
constexpr double kFraming = 24;

double time_of_all_reduce(Process& me, std::size_t floats) {
  std::vector<float> x(floats, 1.0F);
  me.control().barrier();
  const Seconds start = me.tasks().clock().now();
  me.comm().sum(x);
  EXPECT_EQ(x.front(), static_cast<float>(me.size()));
  EXPECT_EQ(x.back(), static_cast<float>(me.size()));
  std::array<float, 1> longest{static_cast<float>((me.tasks().clock().now() - start).count())};
  return static_cast<double>(longest[0]);
}

TEST(SimulatedAllReduce, ARingTakesTheTimeOfItsClosedForm) {
  for (const int ranks : {2, 3, 4, 8, 16}) {
    WorldOptions options = without_limits();
    options.all_reduce = AllReduce::kRing;
    constexpr std::size_t kFloats = 480'000;
    const double chunk = kFloats * sizeof(float) / static_cast<double>(ranks);
    const double expected = 2 * (ranks - 1) * (kLatency + (chunk + kFraming) / kBandwidth);
    simulate(
        flat(ranks),
        [&](Process& me) {
          EXPECT_NEAR(time_of_all_reduce(me, kFloats), expected, 0.01 * expected) << ranks;
        },
        [](World&) {}, options);
  }
}

TEST(SimulatedAllReduce, HalvingAndDoublingTakesTheTimeOfItsClosedForm) {
  for (const int ranks : {2, 4, 8, 16, 64}) {
    WorldOptions options = without_limits();
    options.all_reduce = AllReduce::kHalvingDoubling;
    constexpr std::size_t kFloats = 512 * 1024;
    double expected = 0;
    for (int parts = 2; parts <= ranks; parts *= 2)
      expected +=
          2 * (kLatency + (kFloats * sizeof(float) / static_cast<double>(parts) + kFraming) / kBandwidth);
    simulate(
        flat(ranks),
        [&](Process& me) {
          EXPECT_NEAR(time_of_all_reduce(me, kFloats), expected, 0.01 * expected) << ranks;
        },
        [](World&) {}, options);
  }
}

TEST(SimulatedWorld, MessagesAreSharedOutOverALinkThatSeveralUse) {
  simulate(flat(3), [](Process& me) {
    std::vector<std::byte> data(1'250'000);  // 10 ms alone
    const Seconds start = me.tasks().clock().now();
    if (me.rank() == 0) {
      me.comm().exchange(1, {}, data);
      me.comm().exchange(2, {}, data);
      // Both ended at the same time, because they went through rank 0's link together.
      EXPECT_NEAR((me.tasks().clock().now() - start).count(), 0.02, 0.0005);
    } else {
      me.comm().exchange(0, data, {});
    }
  });
}

TEST(SimulatedWorld, MessagesToOneRankFollowEachOther) {
  in_child([] {
    SimFabric fabric(flat(2), 1, {without_limits().limits});
    fabric.run([&](int rank) {
      Endpoint& ep = fabric.endpoint(rank);
      const Tag tag(Tag::Channel::kExchange, Tag::Lane::kTrain, 0);
      std::vector<std::byte> data(1'250'000);  // 10 ms
      if (rank == 0) {
        const Request first = ep.isend(1, tag, data);
        const Request second = ep.isend(1, tag, data);
        first->wait();
        second->wait();
      } else {
        for (const double messages : {1.0, 2.0}) {
          ep.irecv(0, tag, data)->wait();
          const double expected = messages * (1.25e6 + kFraming) / kBandwidth + kLatency;
          EXPECT_NEAR(ep.clock().now().count(), expected, 1e-9);
        }
      }
    });
  });
}

TEST(SimulatedWorld, TheSameSeedGivesTheSameTraceAndAnotherOneAnother) {
  Cluster cluster = flat(5);
  cluster.step = Seconds(0.01);
  cluster.jitter = 0.3;
  cluster.stragglers.push_back({{}, 2, Seconds(0.02), 1});
  const auto hash = [&](std::uint64_t seed) {
    return from_child([&] {
      World world = World::simulated(cluster, seed, without_limits());
      world.run([](Process& me) {
        std::vector<float> x(10'000, 1.0F);
        for (int t = 0; t < 5; ++t) {
          me.spend_compute(t);
          me.comm().mean(x);
        }
      });
      return world.trace_hash();
    });
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

TEST(SimulatedWorld, TimeIsSpentOnComputingCommunicatingAndWaiting) {
  Cluster cluster = flat(2);
  cluster.step = Seconds(1);
  cluster.stragglers.push_back({{1}, 0, Seconds(0), 3});
  simulate(cluster, [](Process& me) {
    std::vector<std::byte> data(12'500'000);  // 0.1 s
    me.spend_compute(0);
    me.comm().exchange(1 - me.rank(), data, data);
    const TimeSpent spent = me.virtual_time_spent().value();
    EXPECT_NEAR(spent.compute, me.rank() == 0 ? 1 : 3, 1e-9);
    EXPECT_NEAR(me.tasks().clock().now().count(), 3.1, 0.001);
    EXPECT_NEAR(spent.communicate, 0.1, 0.001);  // rank 0 waited for 2 s before
  });
}

TEST(SimulatedWorld, WaitsForABackgroundExchangeAreCountedByWhatIsUnderWay) {
  Cluster cluster = flat(2);
  cluster.step = Seconds(1);
  cluster.stragglers.push_back({{1}, 0, Seconds(0), 3});
  simulate(cluster, [](Process& me) {
    std::vector<std::byte> data(12'500'000);  // 0.1 s
    me.spend_compute(0);
    me.comm().start([&](Collectives& comm) { comm.exchange(1 - me.rank(), data, data); })->wait();
    EXPECT_NEAR(me.tasks().clock().now().count(), 3.1, 0.001);
    EXPECT_NEAR(me.virtual_time_spent().value().communicate, 0.1, 0.001);  // rank 0 waited for 2 s before
    const auto hidden = me.comm().start([&](Collectives& comm) { comm.exchange(1 - me.rank(), data, data); });
    me.spend_compute(1);
    hidden->wait();
    EXPECT_NEAR(me.virtual_time_spent().value().communicate, 0.1, 0.001)
        << "behind a gradient it takes nobody's time";
  });
}

TEST(SimulatedWorld, AHeadStartShortensTheNextGradientAloneAndIsComputing) {
  Cluster cluster = flat(1);
  cluster.step = Seconds(1);
  simulate(cluster, [](Process& me) {
    me.grant_head_start(Seconds(0.25));
    me.spend_compute(0);
    EXPECT_NEAR(me.tasks().clock().now().count(), 0.75, 1e-9);
    me.grant_head_start(Seconds(5));
    me.spend_compute(1);
    EXPECT_NEAR(me.tasks().clock().now().count(), 0.75, 1e-9);
    me.spend_compute(2);
    EXPECT_NEAR(me.tasks().clock().now().count(), 1.75, 1e-9);
    EXPECT_NEAR(me.virtual_time_spent().value().compute, 3, 1e-9);
  });
}

TEST(SimulatedWorld, APauseTakesNoTimeAndKeepsWhoIsAhead) {
  Cluster cluster = flat(3);
  cluster.step = Seconds(1);
  cluster.speed = {1, 0.5, 0.25};  // 1, 2 and 4 s
  simulate(cluster, [](Process& me) {
    Clock& clock = me.tasks().clock();
    me.spend_compute(0);
    me.pause();
    me.control().barrier();
    me.resume();
    me.spend_compute(1);
    // The pause lasted from 1 s to 4 s, and moves everybody's second step by these 3 s.
    const std::vector<double> expected{5, 7, 11};
    EXPECT_NEAR(clock.now().count(), expected[static_cast<std::size_t>(me.rank())], 1e-9);
  });
}

TEST(SimulatedWorld, TasksAndChannelsRunInVirtualTime) {
  simulate(flat(1), [](Process& me) {
    Channel<int> channel(me.tasks());
    Clock& clock = me.tasks().clock();
    const auto task = me.tasks().spawn("late", [&] {
      clock.sleep(Seconds(1000));
      channel.put(7);
    });
    EXPECT_FALSE(channel.get_until(Seconds(10)).has_value());
    EXPECT_EQ(clock.now(), Seconds(10));
    EXPECT_EQ(channel.get(), 7);
    EXPECT_EQ(clock.now(), Seconds(1000));
    task->join();
  });
}

TEST(SimulatedWorld, AgentsAnswerAndBackgroundExchangesOverlap) {
  simulate(flat(4), [](Process& me) {
    const auto service = me.comm().serve([](const Call& call, std::unique_ptr<Answer> answer) {
      if (answer) answer->send(call.body);
    });
    std::vector<float> x(100'000, 1.0F);
    const auto pending = me.comm().start([&](Collectives& comm) { comm.sum(x); });
    std::array<std::byte, 4> out{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 4> in{};
    service->call((me.rank() + 1) % 4, {.body = out}, in);
    EXPECT_EQ(in, out);
    pending->wait();
    EXPECT_EQ(x[17], 4.0F);
    me.comm().barrier();
    service->stop();
  });
}

TEST(SimulatedWorld, ADeadLockSaysWhoWaitsForWhat) {
  simulate_failing<Error>(
      flat(2), {"dead-lock", "rank 0 waits for rank 1 in exchange", "rank 1 waits for rank 0 in broadcast"},
      [](Process& me) {
        std::array<std::byte, 8> x{};
        me.rank() == 0 ? me.comm().exchange(1, x, x) : me.comm().broadcast(x, 0);
      });
}

TEST(SimulatedWorld, ADeadLockBehindAChannelIsFoundToo) {
  simulate_failing<Error>(flat(2), {"dead-lock", "rank 0 waits for a task of its own"}, [](Process& me) {
    Channel<int> never(me.tasks());
    if (me.rank() == 0) never.get();
  });
}

TEST(SimulatedWorld, ADeadLockEndsTasksAndAgentsAsWell) {
  simulate_failing<Error>(flat(3), {"dead-lock"}, [](Process& me) {
    const auto service = me.comm().serve([](const Call&, std::unique_ptr<Answer>) {});
    std::array<std::byte, 8> x{};
    const auto pending =
        me.comm().start([&](Collectives& comm) { comm.exchange((me.rank() + 1) % 3, {}, x); });
    pending->wait();
  });
}

TEST(SimulatedWorld, AFailingRankIsTheErrorOfTheRun) {
  simulate_failing<Diverged>(flat(4), {"on purpose"}, [](Process& me) {
    std::vector<float> x(100'000);
    if (me.rank() == 2) throw Diverged(2, 0, "on purpose");
    me.comm().mean(x);
  });
}

TEST(SimulatedWorld, ACrashIsAPeerThatIsLost) {
  Cluster cluster = flat(4);
  cluster.step = Seconds(1);
  cluster.crashes.push_back({2, Seconds(2.5)});
  simulate_failing<PeerLost>(cluster, {"lost rank 2", "it crashed at 2.5"}, [](Process& me) {
    std::vector<float> x(100'000);
    for (int t = 0; t < 10; ++t) {
      me.spend_compute(t);
      EXPECT_LE(me.tasks().clock().now().count(), me.rank() == 2 ? 2.5 : 3.5);
      me.comm().mean(x);
    }
  });
}

TEST(SimulatedWorld, LimitsOfWaitsCountVirtualTime) {
  WorldOptions options;
  options.limits = {Seconds(100), Seconds(1000), nullptr};
  simulate_failing<Timeout>(
      flat(2), {"rank 0 waits for rank 1 in exchange"},
      [](Process& me) {
        std::array<std::byte, 8> x{};
        if (me.rank() == 1) return me.tasks().clock().sleep(Seconds(500));
        me.comm().exchange(1, x, x);
      },
      options);
}

TEST(SimulatedWorld, LimitsOfWaitsAreReachedFromEveryTimeWhateverItsRounding) {
  WorldOptions options;
  options.limits = {Seconds(30), kNever, nullptr};
  simulate(
      flat(2),
      [](Process& me) {
        std::array<std::byte, 8> x{};
        if (me.rank() == 1) return me.tasks().clock().sleep(Seconds(10'000));
        for (int i = 0; i < 200; ++i) {
          me.tasks().clock().sleep(Seconds(0.1));
          EXPECT_THROW(me.comm().exchange(1, {}, x), Timeout);
        }
      },
      [](World&) {}, options);
}

TEST(SimulatedWorld, PhantomVectorsCostTimeAndNoMemory) {
  in_child([] {
    const Block phantom = phantom_space().allocate(std::size_t{1} << 28U);  // 1 GiB that is not there
    World world = World::simulated(flat(8), 1, without_limits());
    world.run([&](Process& me) {
      me.comm().mean(phantom.view());
      EXPECT_GT(me.tasks().clock().now().count(), 2 * 7.0 / 8 * 1.07e9 / kBandwidth);
    });
  });
}

TEST(SimulatedWorld, ExceptionsOfSeveralActorsDoNotMix) {
  simulate(flat(8), [](Process& me) {
    for (int i = 0; i < 20; ++i) {
      try {
        throw Error("rank " + std::to_string(me.rank()));
      } catch (const Error& error) {
        me.tasks().clock().sleep(
            Seconds(0.001 * (1 + me.rank() * i % 5)));  // others throw and catch meanwhile
        EXPECT_EQ(error.what(), "rank " + std::to_string(me.rank()));
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    }
  });
}

}  // namespace
}  // namespace tacit::test
