// SPDX-License-Identifier: MIT
#include "tacit/world/world.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <span>
#include <thread>

#include "core/rank_seed.h"
#include "support/refusal.h"
#include "tacit/core/error.h"
#include "transport/inproc/inproc.h"

namespace tacit {
namespace {

TEST(World, RunsTheBodyOncePerRank) {
  std::atomic<int> sum{0};
  World world = World::threads(5);
  EXPECT_EQ(world.size(), 5);
  world.run([&](Process& me) {
    EXPECT_EQ(me.size(), 5);
    sum.fetch_add(1 << me.rank());
  });
  EXPECT_EQ(sum.load(), 31);
}

TEST(World, RethrowsTheCauseAndNotItsConsequences) {
  World world = World::threads(4);
  std::atomic<int> consequences{0};
  EXPECT_THROW(world.run([&](Process& me) {
    if (me.rank() == 2) throw Diverged(2, 7, "the loss is nan");
    try {
      me.comm().barrier();
      me.comm().barrier();
    } catch (const PeerLost&) {
      consequences.fetch_add(1);
      throw;
    }
  }),
               Diverged);
  EXPECT_EQ(consequences.load(), 3);
}

TEST(World, ALostPeerNamesTheReason) {
  World world = World::threads(2);
  std::string said;
  EXPECT_THROW(world.run([&](Process& me) {
    if (me.rank() == 1) throw InvalidConfig("no data here");
    try {
      me.comm().barrier();
    } catch (const PeerLost& lost) {
      said = lost.what();
      EXPECT_EQ(lost.peer, 1);
    }
  }),
               InvalidConfig);
  EXPECT_NE(said.find("rank 0 lost rank 1: no data here"), std::string::npos) << said;
  EXPECT_NE(said.find("barrier"), std::string::npos) << said;
}

TEST(World, ARankThatEndsEarlyIsLostToWhoStillWaitsForIt) {
  World world = World::threads(2);
  EXPECT_THROW(world.run([](Process& me) {
    if (me.rank() == 0) me.comm().barrier();
  }),
               PeerLost);
}

TEST(World, AnInterruptEndsEveryWait) {
  World world = World::threads(3);
  EXPECT_THROW(world.run([&](Process& me) {
    if (me.rank() == 0) return world.interrupt();
    me.comm().barrier();  // rank 0 never comes
  }),
               Interrupted);
}

// Ranks that hold loans of each other's buffers while a third one fails: each must give back before it waits for its
// own.
TEST(World, AnInterruptEndsATrainerThatWaitsForNobody) {
  World world = World::threads(1);
  EXPECT_THROW(world.run([&](Process& me) {
    me.spend_compute(0);
    world.interrupt();
    me.spend_compute(1);
    ADD_FAILURE() << "the trainer goes on";
  }),
               Interrupted);
}

TEST(World, EveryRankHasASeedOfItsOwn) {
  std::array<std::uint64_t, 3> seeds{};
  World::threads(3).run([&](Process& me) { seeds[static_cast<std::size_t>(me.rank())] = me.seed(1); });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(seeds[static_cast<std::size_t>(rank)], rank_seed(1, rank));
}

TEST(World, RanksInTheMiddleOfALargeExchangeSurviveTheLossOfAThird) {
  for (const AllReduce algorithm :
       {AllReduce::kDirect, AllReduce::kRing, AllReduce::kHalvingDoubling, AllReduce::kRecursiveDoubling})
    for (int repeat = 0; repeat < 20; ++repeat) {
      World world = World::threads(4, {.limits = {}, .all_reduce = algorithm});
      std::atomic<int> inside{0};
      EXPECT_THROW(world.run([&](Process& me) {
        std::vector<float> x(200'000);
        if (me.rank() == 3) {
          while (inside.load() < 3) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(repeat % 4));  // let them get to their waits
          throw Diverged(3, 0, "on purpose");
        }
        inside.fetch_add(1);
        me.comm().sum(x);
      }),
                   Diverged);
    }
}

TEST(World, AnAgentsErrorIsTheCauseAndKeepsItsType) {
  World world = World::threads(2);
  EXPECT_THROW(world.run([](Process& me) {
    const auto service =
        me.comm().serve([](const Call&, std::unique_ptr<Answer>) { throw Mismatch("on purpose"); });
    float reply = 0;
    if (me.rank() == 0) service->call(1, {}, std::as_writable_bytes(std::span(&reply, 1)));
    me.comm().barrier();
  }),
               Mismatch);
}

TEST(World, LimitsThatNeverEndAreRefused) {
  EXPECT_THROW(World::threads(2, {.limits = {Seconds(std::nan("")), Seconds(1), nullptr}}), InvalidConfig);
  EXPECT_THROW(World::threads(2, {.limits = {Seconds(1), Seconds(0), nullptr}}), InvalidConfig);
}

TEST(World, AnAgentOfAFailingRankStopsWithIt) {
  World world = World::threads(2);
  EXPECT_THROW(world.run([](Process& me) {
    const auto service = me.comm().serve([](const Call&, std::unique_ptr<Answer>) {});
    if (me.rank() == 0) throw Diverged(0, 0, "on purpose");
    me.comm().barrier();
  }),
               Diverged);
}

TEST(World, WhatAFailingRankDoesToItsOwnAgentsIsNotTheCause) {
  InprocFabric fabric(2);
  fabric.endpoint(0).fail(nullptr);
  fabric.endpoint(0).fail(std::make_exception_ptr(PeerLost(0, 0, "it is failing")));
  EXPECT_EQ(fabric.cause(0), nullptr);
}

TEST(World, ABackgroundExchangeOfALostPeerEnds) {
  World world = World::threads(2);
  EXPECT_THROW(world.run([](Process& me) {
    std::vector<float> x(100'000);
    const auto pending = me.comm().start([&](Collectives& c) { c.sum(x); });
    if (me.rank() == 0) throw Diverged(0, 0, "on purpose");  // its own exchange must end first
    pending->wait();
    me.comm().barrier();
  }),
               Diverged);
}

TEST(World, ARankThatFailsBesideABackgroundExchangeDoesNotWaitForWhoWaitsForIt) {
  World world = World::threads(2);
  EXPECT_THROW(world.run([](Process& me) {
    std::vector<float> x(100'000);
    if (me.rank() == 1) return me.comm().barrier();  // never starts the exchange that rank 0 started
    const auto pending = me.comm().start([&](Collectives& c) { c.sum(x); });
    throw Diverged(0, 0, "on purpose");
  }),
               Diverged);
}

TEST(World, CollectivesOfATransportThatIsNotThereAreRefused) {
  WorldOptions options;
  options.native_collectives = true;
  EXPECT_THROW(World::threads(2, options), InvalidConfig);
  EXPECT_THROW(World::tcp({}, options), InvalidConfig);
}

TEST(World, LessThanOneRankIsRefused) {
  EXPECT_THROW(World::threads(0), InvalidConfig);
  EXPECT_THROW(World::threads(-3), InvalidConfig);
}

TEST(World, MoreThreadsThanAProcessCanHoldAreRefusedBeforeTheyTakeItsMemory) {
  test::expect_parts(test::refusal([] { World::threads(1'000'000'000); }), {"1000000000", "1024"});
}

TEST(World, FromEnvironmentTakesItsOptionOutOfTheArguments) {
  char program[] = "prog";
  char workers[] = "--workers";
  char three[] = "3";
  char other[] = "--other";
  char* argv[] = {program, workers, three, other, nullptr};
  int argc = 4;
  EXPECT_EQ(World::from_environment(argc, argv).size(), 3);
  EXPECT_EQ(argc, 2);
  EXPECT_STREQ(argv[1], "--other");
  char bad[] = "--workers=4x";
  char* bad_argv[] = {program, bad, nullptr};
  argc = 2;
  EXPECT_THROW(World::from_environment(argc, bad_argv), InvalidConfig);
}

}  // namespace
}  // namespace tacit
