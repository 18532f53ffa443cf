// SPDX-License-Identifier: MIT
// Collectives that go on when ranks are lost: before, in the middle of, and after their part.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>

#include "collectives/agent.h"
#include "collectives/star.h"
#include "support/on_surviving_ranks.h"
#include "support/simulate.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

using Floats = std::vector<float>;
using Leave = InprocFabric::Leave;

float value(int rank) { return static_cast<float>(1U << static_cast<unsigned>(rank)); }

TEST(SurvivingComm, IsThePlainOneWhileNobodyIsLost) {
  InprocFabric fabric(5, test_limits());
  on_surviving_comms(fabric, 5, [](Comm& comm) {
    EXPECT_TRUE(comm.survives());
    EXPECT_EQ(comm.living(), (std::vector<int>{0, 1, 2, 3, 4}));
    Floats x(10, value(comm.rank()));
    comm.mean(x);
    for (const float v : x) EXPECT_FLOAT_EQ(v, 31.0F / 5);
    EXPECT_TRUE(comm.losses().empty());
    comm.barrier();
  });
}

TEST(SurvivingComm, EveryCollectiveGoesOnAmongThoseThatLive) {
  InprocFabric fabric(5, test_limits());
  on_surviving_comms(fabric, 5, [&](Comm& comm) {
    comm.barrier();
    if (comm.rank() == 2) {
      fabric.leave(2, Leave::kFailed, "killed on purpose");
      return;
    }
    Floats x(10, value(comm.rank()));
    comm.mean(x);  // of 1, 2, 8 and 16
    EXPECT_EQ(x, Floats(10, 27.0F / 4));
    EXPECT_EQ(comm.living(), (std::vector<int>{0, 1, 3, 4}));
    ASSERT_EQ(comm.losses().size(), 1U);
    EXPECT_EQ(comm.losses()[0].rank, 2);
    EXPECT_EQ(comm.losses()[0].why, "killed on purpose");
    x.assign(10, value(comm.rank()));
    comm.sum(x);
    EXPECT_EQ(x, Floats(10, 27));
    x.assign(10, value(comm.rank()));
    comm.broadcast(bytes_of(FloatView(x)), 3);
    EXPECT_EQ(x, Floats(10, 8));
    x.assign(10, value(comm.rank()));
    comm.broadcast(bytes_of(FloatView(x)), 2);  // whose root is gone
    EXPECT_EQ(x, Floats(10, 1));
    Floats long_one(160, 0);
    const auto slice = [&](int rank) { return part(FloatView(long_one), comm.own_slice(160, rank)).host(); };
    for (float& v : slice(comm.rank())) v = value(comm.rank());
    comm.all_gather(long_one);
    for (const int rank : comm.living()) {
      EXPECT_EQ(slice(rank).size(), 32U);
      for (const float v : slice(rank)) EXPECT_EQ(v, value(rank));
    }
    long_one.assign(160, value(comm.rank()));
    comm.reduce_scatter(long_one);
    for (const float v : slice(comm.rank())) EXPECT_EQ(v, 27);
    comm.barrier();
  });
}

// Of three neighbours one is lost: nothing comes from it, and the others' messages do, now and later.
TEST(SurvivingComm, ASwapGoesOnWithTheNeighboursThatLive) {
  InprocFabric fabric(4, test_limits());
  on_surviving_comms(fabric, 4, [&](Comm& comm) {
    comm.barrier();
    if (comm.rank() == 2) {
      fabric.leave(2, Leave::kFailed, "killed on purpose");
      return;
    }
    for (int round = 0; round < 3; ++round) {
      const auto said = [&](int rank) { return Floats(6000, value(rank) + static_cast<float>(round)); };
      const Floats out = said(comm.rank());
      std::vector<Floats> in(4, Floats(out.size(), -1));
      std::vector<Swap> with;
      for (int peer = 0; peer < 4; ++peer)
        if (peer != comm.rank()) with.push_back({peer, out, in[static_cast<std::size_t>(peer)]});
      const std::vector<bool> came = comm.swap(with);
      for (std::size_t i = 0; i < with.size(); ++i) {
        const int peer = with[i].peer;
        EXPECT_EQ(came[i], peer != 2);
        EXPECT_EQ(in[static_cast<std::size_t>(peer)], peer == 2 ? Floats(out.size(), -1) : said(peer));
      }
    }
    comm.barrier();
  });
}

// Ranks are lost at moments of no plan, one after the other, in the middle of means that follow each other. All that
// live have the same results, each of a set of ranks that shrinks.
void lose_while_averaging(std::size_t count, const std::vector<int>& victims, int trial) {
  constexpr int kRanks = 5;
  constexpr int kMeans = 60;
  InprocFabric fabric(kRanks, test_limits());
  std::vector<Floats> results(kRanks);
  std::atomic<int> done{0};  // means of rank 4, who is never lost
  std::atomic<std::size_t> killed{0};
  const auto moment = [&](std::size_t victim) { return static_cast<int>(victim + 1) * 15 + trial % 7; };
  std::thread killer([&] {
    for (std::size_t i = 0; i < victims.size(); ++i) {
      while (done.load() < moment(i)) std::this_thread::yield();
      for (int yield = 0; yield < trial % 23; ++yield) std::this_thread::yield();
      fabric.leave(victims[i], Leave::kFailed, "killed on purpose");
      ++killed;
    }
  });
  on_surviving_comms(fabric, kRanks, [&](Comm& comm) {
    Floats x(count);
    for (int k = 0; k < kMeans; ++k) {
      // A killer that is late does not miss the run.
      const std::size_t late = killed.load();
      if (comm.rank() == 4 && late < victims.size() && k > moment(late) + 5)
        while (killed.load() == late) std::this_thread::yield();
      std::fill(x.begin(), x.end(), value(comm.rank()) * static_cast<float>(k + 1));
      comm.mean(x);
      for (const float v : x) ASSERT_EQ(v, x[0]) << "a result of two different sets of ranks";
      results[static_cast<std::size_t>(comm.rank())].push_back(x[0] / static_cast<float>(k + 1));
      if (comm.rank() == 4) ++done;
    }
    comm.barrier();
  });
  killer.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (std::find(victims.begin(), victims.end(), rank) != victims.end()) continue;
    EXPECT_EQ(results[static_cast<std::size_t>(rank)], results[4]) << "rank " << rank << ", trial " << trial;
  }
  // What each mean was taken over, as far as it can be seen: all, then one less, ...
  float total = 31;
  std::size_t left = kRanks;
  std::size_t stage = 0;
  for (const float mean : results[4]) {
    while (std::abs(mean - total / static_cast<float>(left)) > 1e-4F) {
      ASSERT_LT(stage, victims.size()) << "a mean of no set of ranks that lived: " << mean;
      total -= value(victims[stage++]);
      --left;
    }
  }
  EXPECT_EQ(stage, victims.size());
}

TEST(SurvivingComm, AMeanIsTheSameOnAllThatLiveWheneverARankIsLost) {
  for (int trial = 0; trial < 12; ++trial) lose_while_averaging(10, {2}, trial);
  for (int trial = 0; trial < 6; ++trial) lose_while_averaging(30000, {2}, trial);
}

TEST(SurvivingComm, TheNextRankIsHeadWhenTheHeadIsLost) {
  for (int trial = 0; trial < 12; ++trial) lose_while_averaging(10, {0, 1}, trial);
  for (int trial = 0; trial < 6; ++trial) lose_while_averaging(30000, {3, 0}, trial);
}

// In virtual time every moment can be had: rank `victim` crashes at each of many within and around three means.
void crash_sweep(int victim, std::size_t count, double until) {
  for (int moment = 1; moment <= 24; ++moment) {
    Cluster cluster = flat(4);
    cluster.crashes.push_back({victim, Seconds(until * moment / 24)});
    WorldOptions options = without_limits();
    options.survive = true;
    std::vector<Floats> results(4);
    simulate(
        cluster,
        [&](Process& me) {
          Floats x(count);
          for (int k = 0; k < 3; ++k) {
            me.tasks().clock().sleep(Seconds(0.0001 * me.rank()));
            std::fill(x.begin(), x.end(), value(me.rank()));
            me.comm().mean(x);
            for (const float v : x) ASSERT_EQ(v, x[0]);
            results[static_cast<std::size_t>(me.rank())].push_back(x[0]);
          }
          me.control().barrier();
        },
        [&](World&) {
          const Floats& first = results[victim == 0 ? 1 : 0];
          ASSERT_EQ(first.size(), 3U);
          for (int rank = 0; rank < 4; ++rank) {
            if (rank == victim) continue;
            EXPECT_EQ(results[static_cast<std::size_t>(rank)], first) << "moment " << moment;
          }
          for (const float mean : first)
            EXPECT_TRUE(mean == 15.0F / 4 || std::abs(mean - (15 - value(victim)) / 3) < 1e-5F) << mean;
        },
        options);
  }
}

TEST(SurvivingComm, InVirtualTimeTooWhateverTheMoment) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  crash_sweep(2, 8, 0.004);
  crash_sweep(0, 8, 0.004);
  crash_sweep(1, 100000, 0.06);
  crash_sweep(0, 100000, 0.06);
}

// Two heads at once, as where ranks disagree about who lives: ranks 2 and 3 have one each, and both have the result that
// they ask each other for.
TEST(Stars, WhoseAgentsAskEachOtherDoNotWaitForEachOther) {
  constexpr int kRounds = 50;
  InprocFabric fabric(4, test_limits());
  std::barrier together(4);
  run_ranks(4, [&](int rank) {
    Endpoint& endpoint = fabric.endpoint(rank);
    endpoint.survive();
    ThreadTasks tasks;
    std::unique_ptr<Star> star;
    if (rank < 2) star = std::make_unique<Star>(endpoint, tasks, Tag::Lane::kTrain);
    Caller caller(endpoint, Tag::Lane::kTrain);
    for (int number = 0; number < kRounds; ++number) {
      Floats result(100'000, static_cast<float>(number));
      if (star) star->keep(number, std::as_bytes(std::span(result)));
      together.arrive_and_wait();
      if (!star) {
        Floats got(result.size());
        caller.call(rank - 2, Star::kService,
                    {.method = StarOp{StarOp::Kind::kSum}.method(),
                     .step = number,
                     .body = std::as_bytes(std::span(got))},
                    std::as_writable_bytes(std::span(got)));
        EXPECT_EQ(got, result);
      }
      together.arrive_and_wait();
    }
  });
}

}  // namespace
}  // namespace tacit::test
