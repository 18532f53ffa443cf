// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "support/few_numbers.h"
#include "support/refusal.h"
#include "support/replicas.h"
#include "support/train.h"

namespace tacit::test {
namespace {

constexpr const char* kNeverBlocking = ",limit=1000000";
constexpr const char* kModes[] = {"solo", "majority"};

std::string eager(const std::string& mode, const std::string& more) { return "eager:mode=" + mode + more; }

std::string simulated_hash(const Cluster& cluster, const TrainCase& c) {
  return from_child([&] {
    World world = World::simulated(cluster, 1, without_limits());
    return train_in(world, c).summary.weights_hash;
  });
}

void draw_gradient(FewNumbers& r, int rank, std::int64_t t) {
  Rng rng(1, rank, t, Rng::Use::kMinibatch);
  for (float& g : r.worker.gradient().host()) g = rng.normal();
}

// One rank that is always slow, one that is a little, and all of them at random.
Cluster ragged(int ranks) {
  Cluster cluster = cluster_of(ranks);
  cluster.jitter = 0.5;
  cluster.stragglers.push_back({.ranks = {ranks - 1}, .factor = 4});
  cluster.stragglers.push_back({.ranks = {0}, .factor = 2.5});
  return cluster;
}

// Weights of rank 0 after steps to which all ranks come at the same time, so that nobody has heard of a round before.
Floats in_step(int ranks, const std::string& spec) {
  const std::string bits = from_child([&] {
    std::string end;
    World world = World::simulated(cluster_of(ranks), 1, without_limits());
    world.run([&](Process& me) {
      FewNumbers r(me, spec);
      for (std::int64_t t = 0; t < 20; ++t) {
        Clock& clock = me.tasks().clock();
        clock.sleep(Seconds(0.1 * static_cast<double>(t + 1)) - clock.now());
        draw_gradient(r, me.rank(), t);
        r.step(t);
      }
      r.strategy->finish(r.worker);
      const ConstBytes bytes = bytes_of(r.worker.params());
      if (me.rank() == 0) end.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return end;
  });
  Floats x(bits.size() / sizeof(float));
  copy(std::as_bytes(std::span(bits)), bytes_of(FloatView(x)));
  return x;
}

TEST(Eager, WhereNobodyIsLateIsSynchronousSgdToTheBit) {
  NEEDS_SIMULATOR;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    const Floats ssgd = in_step(ranks, "ssgd");
    ASSERT_EQ(ssgd.size(), 3U);
    for (const char* mode : kModes)
      EXPECT_EQ(in_step(ranks, eager(mode, ",limit=7")), ssgd) << mode << ", " << ranks << " ranks";
  }
}

TEST(Eager, ThatWaitsForAllAtEveryStepIsSynchronousSgdToTheBit) {
  for (const int ranks : {1, 2, 3, 4, 5})
    EXPECT_EQ(
        train({.strategy = "eager:limit=1", .ranks = ranks, .optimizer = "adamw", .lr = 0.001}).params[0],
        train({.strategy = "ssgd", .ranks = ranks, .optimizer = "adamw", .lr = 0.001}).params[0])
        << ranks;
}

// Rank 1 comes to the first round when rank 0 has had it, and to the second before rank 0.
TEST(Eager, TheGradientOfALateRankIsInALaterRound) {
  NEEDS_SIMULATOR;
  simulate(cluster_of(2), [](Process& me) {
    FewNumbers r(me, eager("solo", kNeverBlocking));
    if (me.rank() == 1) me.tasks().clock().sleep(Seconds(0.05));
    r.step(0);
    EXPECT_EQ(r.x(), 1.0F / 2);
    if (me.rank() == 0) me.tasks().clock().sleep(Seconds(0.1));
    r.step(1);
    EXPECT_EQ(r.x(), 1.0F / 2 + 2.0F / 2);
    r.strategy->finish(r.worker);
    EXPECT_EQ(r.x(), 1.0F / 2 + 2.0F / 2) << "sent twice";
  });
}

// Rank 1 comes to the first round when rank 0 has had four. What it gives in its own four goes into one more, the last.
TEST(Eager, ARankThatIsLateByMoreThanOneAppliesAllThatItMissedOnceAndWaitsForNobody) {
  NEEDS_SIMULATOR;
  simulate(cluster_of(2), [](Process& me) {
    FewNumbers r(me, eager("solo", kNeverBlocking));
    if (me.rank() == 1) me.tasks().clock().sleep(Seconds(0.2));
    const Seconds start = me.tasks().clock().now();
    for (std::int64_t t = 0; t < 4; ++t) {
      r.gradient(-1);
      r.step(t);
      EXPECT_EQ(r.x(), me.rank() == 1 ? 2.0F : static_cast<float>(t + 1) / 2) << "step " << t;
    }
    if (me.rank() == 1) {
      EXPECT_NEAR((me.tasks().clock().now() - start).count(), 0.04, 1e-9);
    }
    r.strategy->finish(r.worker);
    EXPECT_EQ(r.x(), 4.0F);
  });
}

TEST(Eager, AllThatWasGivenIsAppliedOnceHoweverLate) {
  NEEDS_SIMULATOR;
  for (const char* mode : kModes)
    for (const int ranks : {2, 3, 5, 8})
      simulate(ragged(ranks), [&](Process& me) {
        FewNumbers r(me, eager(mode, ",limit=8"));
        float given = 0;
        for (std::int64_t t = 0; t < 21; ++t) {
          draw_gradient(r, me.rank(), t);
          given += r.worker.gradient().host()[1];
          r.step(t);
          if ((t + 1) % 8 != 0 && t != 20) continue;
          if (t == 20) r.strategy->finish(r.worker);  // not after a blocking round: some is left
          me.control().sum(std::span(&given, 1));
          EXPECT_NEAR(r.x(), -given / static_cast<float>(ranks), 2e-5) << mode << ", step " << t;
          given = me.rank() == 0 ? given : 0;
        }
      });
}

// Without the means of weights, which are taken in blocking rounds and at the end alone.
TEST(Eager, RanksThatHaveTakenTheSameStepsHaveTheSameWeightsHoweverLateTheyWere) {
  NEEDS_SIMULATOR;
  for (const char* mode : kModes) {
    constexpr std::size_t kRanks = 5;
    std::vector<Floats> ends(kRanks);
    simulate(
        ragged(kRanks),
        [&](Process& me) {
          FewNumbers r(me, eager(mode, kNeverBlocking));
          for (std::int64_t t = 0; t < 20; ++t) {
            draw_gradient(r, me.rank(), t);
            r.step(t);
          }
          const auto x = r.worker.params().host();
          ends[static_cast<std::size_t>(me.rank())].assign(x.begin(), x.end());
          r.strategy->finish(r.worker);
        },
        [&](World&) {
          EXPECT_NE(ends[0][0], 0.0F);
          for (const Floats& each : ends) EXPECT_EQ(each, ends[0]) << mode;
        });
  }
}

// Late ranks apply a mean at another step than others do, and with another rate; train_in() compares the ends.
TEST(Eager, EndsWithEqualWeightsAlsoWhereTheRateChanges) {
  NEEDS_SIMULATOR;
  for (const char* mode : kModes) {
    const TrainCase c{.strategy = eager(mode, ",limit=6"), .optimizer = "adamw", .schedule = "cosine"};
    EXPECT_FALSE(simulated_hash(ragged(4), c).empty());
  }
}

// How long the quickest of four ranks needs for the first round where one comes 50 ms later.
double first_round(const std::string& spec, int late) {
  return std::stod(from_child([&] {
    double shortest = 1;
    World world = World::simulated(cluster_of(4), 1, without_limits());
    world.run([&](Process& me) {
      FewNumbers r(me, spec);
      me.control().barrier();
      const Seconds start = me.tasks().clock().now();
      if (me.rank() == late) me.tasks().clock().sleep(Seconds(0.05));
      r.step(0);
      shortest = std::min(shortest, (me.tasks().clock().now() - start).count());
      r.strategy->finish(r.worker);
    });
    return std::to_string(shortest);
  }));
}

TEST(Eager, AMajorityWaitsForTheRankThatWasDrawnAndForNoOther) {
  NEEDS_SIMULATOR;
  int waited = 0;
  for (const int late : {0, 1, 2, 3}) {
    const double took = first_round(eager("majority", kNeverBlocking), late);
    const bool drawn = took >= 0.06;
    if (!drawn) {
      EXPECT_LT(took, 0.012);
    }
    waited += drawn ? 1 : 0;
    EXPECT_LT(first_round(eager("solo", kNeverBlocking), late), 0.012);
    EXPECT_GE(first_round("eager:limit=1", late), 0.06) << "a blocking round waits for everybody";
  }
  EXPECT_EQ(waited, 1);
}

// Virtual time, not the machine's.
TEST(Eager, NobodyWaitsForAStragglerBetweenBlockingRounds) {
  NEEDS_SIMULATOR;
  constexpr int kRanks = 7;
  Cluster cluster = cluster_of(kRanks);
  cluster.stragglers.push_back({.ranks = {kRanks - 1}, .factor = 5});
  simulate(cluster, [&](Process& me) {
    FewNumbers r(me, eager("solo", ",limit=10"));
    me.control().barrier();
    const Seconds start = me.tasks().clock().now();
    for (std::int64_t t = 0; t < 9; ++t) r.step(t);
    // 9 gradients of 10 ms, and per round the news and a few messages of 100 us.
    if (me.rank() != kRanks - 1) {
      EXPECT_LT((me.tasks().clock().now() - start).count(), 9 * (0.01 + 0.002));
    }
    r.step(9);
    EXPECT_GT((me.tasks().clock().now() - start).count(), 0.499);
    r.strategy->finish(r.worker);
  });
}

TEST(Eager, SendsOneAllReduceAndTheNewsPerRound) {
  NEEDS_SIMULATOR;
  constexpr std::uint64_t kSum = 4 * 2 * 4 * 1000;  // recursive doubling among four ranks
  // The drawn one tells three, and who comes before it asks.
  const std::uint64_t asked = payload_sent(4, eager("majority", kNeverBlocking), 6, 1000) - 6 * kSum;
  EXPECT_EQ(asked % 32, 0U);
  EXPECT_GE(asked / 32, 6 * 3U);
  EXPECT_LE(asked / 32, 6 * (3 + 3U));
  // Nobody starts a blocking round for another. It ends with a sum of one float: was anybody out of step?
  EXPECT_EQ(payload_sent(4, "eager:limit=1", 6, 1000), 6 * (kSum + 4 * 2 * 4));
  const std::uint64_t some = payload_sent(4, "eager:limit=3", 6, 1000) - 6 * kSum - 2 * 4 * 2 * 4;
  EXPECT_GE(some, 4 * 3 * 32U);
  EXPECT_LE(some, 4 * (3 + 3) * 32U);
  // Several may come first at once: each rank tells two at most.
  const std::uint64_t news = payload_sent(4, eager("solo", kNeverBlocking), 6, 1000) - 6 * kSum;
  EXPECT_EQ(news % 32, 0U);
  EXPECT_GE(news / 32, 6 * 3U);
  EXPECT_LE(news / 32, 6 * 4 * 2U);
}

TEST(Eager, AResumedRunGivesTheSameBits) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"eager", "eager:mode=solo,limit=3", "eager:mode=solo", "eager:limit=5"}) {
    expect_resume(cluster_of(4), spec);
    expect_resume(ragged(5), spec);
  }
}

// A loop that goes on sets its step first, and would draw another seed.
TEST(Eager, AResumedRunDrawsTheRanksThatTheFirstOneWouldHave) {
  const ReplicaCase c{.strategy = "eager:mode=majority", .ranks = 3};
  const auto state_of = [&](Replica& r, Strategy& strategy) {
    StateWriter state;
    strategy.save(r, state);
    return std::vector<std::byte>(state.bytes().begin(), state.bytes().end());
  };
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    take_steps(r, strategy, 0, 2);
    const std::vector<std::byte> first = state_of(r, strategy);
    strategy.finish(r);
    const auto second = make_strategy(builtin_strategies(), c.strategy, c.ranks);
    r.set_t(2);
    second->start(r);
    EXPECT_NE(state_of(r, *second), first);
    StateReader reader(first);
    second->load(r, reader);
    EXPECT_EQ(state_of(r, *second), first);
    second->finish(r);
  });
}

TEST(Eager, IsAsynchronousAndTakesNoCompressor) {
  const StrategyInfo& info = builtin_strategies().find("eager");
  EXPECT_TRUE(info.asynchronous);
  EXPECT_FALSE(info.survives);
  EXPECT_NE(
      refusal([] { make_strategy(builtin_strategies(), "eager", 4, "topk:ratio=0.1,ef"); }).find("eager"),
      std::string::npos);
}

TEST(Eager, LearnsThoughRanksAreLate) {
  NEEDS_SIMULATOR;
  for (const char* mode : kModes)
    in_child([&] {
      World world = World::simulated(ragged(8), 1, without_limits());
      const TrainCase c{.strategy = eager(mode, ""), .ranks = 8, .steps = 60, .global_batch = 120};
      const Trained run = train_in(world, c);
      EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << mode;
      EXPECT_GT(*run.summary.accuracy, 0.8) << mode;
    });
}

TEST(Eager, RefusesAnUnknownModeAndSenselessNumbers) {
  const auto made = [](const std::string& spec) {
    return refusal([&] { make_strategy(builtin_strategies(), spec, 4); });
  };
  EXPECT_NE(made("eager:mode=all").find("majority"), std::string::npos);
  EXPECT_NE(made("eager:limit=0").find("limit"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
