// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protocols/push_sum.h"
#include "support/few_numbers.h"
#include "support/on_every_rank.h"
#include "support/refusal.h"
#include "support/simulate.h"
#include "support/survival.h"
#include "support/train.h"

namespace tacit::test {
namespace {

TEST(Gossip, APullTakesTheMeanOfBothAndLeavesThePeerAlone) {
  NEEDS_SIMULATOR;
  simulate(cluster_of(2), [](Process& me) {
    FewNumbers r(me, "gossip:lag=0");
    if (me.rank() == 0) {  // 0 is late: it still has the start's weights when 1 pulls them
      me.tasks().clock().sleep(Seconds(0.005));
      r.step(0);
      EXPECT_EQ(r.x(), (1.0F + 1.0F) / 2);  // its own 1, and 1, which rank 1 has by then
    } else {
      r.step(0);
      EXPECT_EQ(r.x(), (2.0F + 0.0F) / 2);
    }
    r.strategy->finish(r.worker);
    EXPECT_EQ(r.x(), 1.0F);
  });
}

TEST(Gossip, AnOverlappedPullIsUsedAfterTheNextGradient) {
  NEEDS_SIMULATOR;
  simulate(cluster_of(2), [](Process& me) {
    FewNumbers r(me, "gossip:lag=1");
    r.step(0);
    EXPECT_EQ(r.x(), static_cast<float>(me.rank() + 1));  // the pull is under way
    r.gradient(-4);
    r.step(1);
    EXPECT_EQ(r.x(), 1.5F + 4);  // the whole step comes on top of the mean
    r.strategy->finish(r.worker);
  });
}

// Whom this rank exchanged weights with in so many steps. Each step takes the weights from zero to the rank's own place
// in a vector of one per rank, so that what a rank has of another's is seen in that one's place.
std::vector<int> exchanges(Process& me, const std::string& spec, std::int64_t steps) {
  const auto ranks = static_cast<std::size_t>(me.size());
  const auto own = static_cast<std::size_t>(me.rank());
  std::vector<int> with(ranks);
  FewNumbers r(me, spec, ranks);
  const std::span<float> x = r.worker.params().host();
  for (std::int64_t t = 0; t < steps; ++t) {
    me.control().barrier();
    me.tasks().clock().sleep(Seconds(0.005));  // what is under way arrives
    std::fill(x.begin(), x.end(), 0.0F);
    r.gradient(0);
    r.worker.gradient().host()[own] = -1;
    r.step(t);
    // Everyone sends what it had right after its step, and of that alone.
    const auto parts = static_cast<float>(std::count_if(x.begin(), x.end(), [](float v) { return v > 0; }));
    for (std::size_t i = 0; i < ranks; ++i) {
      if (x[i] == 0) continue;
      EXPECT_FLOAT_EQ(x[i], 1 / parts) << spec << ", step " << t;
      if (i != own) ++with[i];
    }
  }
  r.strategy->finish(r.worker);
  return with;
}

TEST(Gossip, DrawsItsPeersFromTheWholeGraphAndSendsWeightsAfterTheStep) {
  NEEDS_SIMULATOR;
  struct Graph {
    const char* peers;
    std::vector<int> distances;  // of those that a rank is seen to have exchanged with
  };
  const std::vector<Graph> pulls{{"uniform", {1, 2, 3, 4, 5}}, {"ring", {1, 5}}, {"exponential", {1, 2, 4}}};
  const std::vector<Graph> pushes{
      {"uniform", {1, 2, 3, 4, 5}}, {"ring", {1, 5}}, {"exponential", {5, 4, 2}}};  // who sends to it
  constexpr int kRanks = 6;
  constexpr int kSteps = 120;
  for (const bool push : {false, true})
    for (const Graph& graph : push ? pushes : pulls)
      simulate(cluster_of(kRanks), [&](Process& me) {
        const std::string mode = push ? "gossip:mode=push,peers=" : "gossip:lag=0,peers=";
        const std::vector<int> with = exchanges(me, mode + graph.peers, kSteps);
        const double each = static_cast<double>(kSteps) / static_cast<double>(graph.distances.size());
        for (int distance = 1; distance < kRanks; ++distance) {
          const bool near =
              std::find(graph.distances.begin(), graph.distances.end(), distance) != graph.distances.end();
          const int seen = with[static_cast<std::size_t>((me.rank() + distance) % kRanks)];
          EXPECT_GE(seen, near ? each / 2 : 0) << mode << graph.peers << ", " << distance << " further on";
          EXPECT_LE(seen, near ? each * 2 : 0) << mode << graph.peers << ", " << distance << " further on";
        }
      });
}

TEST(Gossip, TheFirstExchangeComesAfterAsManyStepsAsThePeriodHas) {
  NEEDS_SIMULATOR;
  for (const char* mode : {"gossip:", "gossip:mode=push,", "gossip:mode=push,push_sum,"}) {
    EXPECT_EQ(payload_sent(2, std::string(mode) + "period=3", 2, 100), 0U) << mode;
    EXPECT_GT(payload_sent(2, std::string(mode) + "period=3", 3, 100), 0U) << mode;
  }
}

TEST(Gossip, WithoutExchangesEveryRankTrainsAloneUntilTheEnd) {
  for (const char* spec : {"gossip:probability=0", "gossip:mode=push,probability=0"})
    EXPECT_EQ(train({.strategy = spec}).params[0], train({.strategy = "local:period=1000"}).params[0]);
}

TEST(Gossip, ReplicasComeTogetherByPullsAlone) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"gossip", "gossip:lag=2", "gossip:peers=ring", "gossip:peers=exponential",
                           "gossip:probability=0.5", "gossip:mode=push", "gossip:mode=push,push_sum"})
    simulate(cluster_of(5), [&](Process& me) {
      FewNumbers r(me, spec);
      for (std::int64_t t = 0; t < 80; ++t) r.step(t);
      const float x = r.x();
      EXPECT_NEAR(x, r.mean(), 0.02) << spec;
      EXPECT_TRUE(x > 1 && x < 5) << spec;
      r.strategy->finish(r.worker);
    });
}

// Whatever the threads' timing.
TEST(Gossip, PushSumConservesTheMean) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    World world = World::threads(ranks, {.limits = test_limits()});
    world.run([&](Process& me) {
      FewNumbers r(me, "gossip:mode=push,push_sum,peers=exponential", 5000);
      for (std::int64_t t = 0; t < 50; ++t) r.step(t);
      r.strategy->finish(r.worker);
      for (const float x : r.worker.params().host())
        ASSERT_NEAR(x, static_cast<float>(ranks + 1) / 2, 1e-4) << ranks;
      EXPECT_EQ(r.mean(), r.x());
    });
  }
}

// As in a GAN: two strategies on one rank at a time, each with agents of its own.
TEST(Gossip, TwoOnOneRankKeepApart) {
  for (const char* spec : {"gossip:mode=push,push_sum", "gossip:period=2", "wagma:group=2,period=4"}) {
    World world = World::threads(3, {.limits = test_limits()});
    world.run([&](Process& me) {
      FewNumbers small(me, spec, 5);
      FewNumbers large(me, spec, 6000);
      large.gradient(-100 * static_cast<float>(me.rank() + 1));
      for (std::int64_t t = 0; t < 40; ++t) {
        small.step(t);
        large.step(t);
        if (t == 0) me.control().barrier();  // nobody reads weights from before the first step
      }
      large.strategy->finish(large.worker);
      small.strategy->finish(small.worker);
      EXPECT_TRUE(small.x() >= 1 && small.x() <= 3) << spec << ": " << small.x();
      EXPECT_TRUE(large.x() >= 100 && large.x() <= 300) << spec << ": " << large.x();
    });
  }
}

TEST(Gossip, AllThatWerePushedToARankAreAveragedWithEqualWeights) {
  on_every_comm(4, [](Comm& comm) {
    ThreadTasks tasks;
    Floats x(10, static_cast<float>(comm.rank() + 1));
    PushSum mass(PushSum::Rule::kUnweighted, comm, tasks, x);
    if (comm.rank() > 0) mass.give(0, x);
    mass.close(x);
    EXPECT_FLOAT_EQ(x[3], comm.rank() == 0 ? (1.0F + 2 + 3 + 4) / 4 : static_cast<float>(comm.rank() + 1));
    EXPECT_EQ(mass.weight(), 1);
  });
}

TEST(Gossip, PushSumConservesTheSumsOfNumeratorsAndOfWeights) {
  for (const int ranks : {2, 3, 5, 8})
    on_every_comm(ranks, [&](Comm& comm) {
      ThreadTasks tasks;
      Floats x(100, static_cast<float>(comm.rank()));
      PushSum mass(PushSum::Rule::kWeighted, comm, tasks, x);
      Rng rng(1, comm.rank(), 0, Rng::Use::kPeerChoice);
      for (int t = 0; t < 40; ++t) {
        const auto other = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(ranks - 1)));
        mass.give((comm.rank() + other) % ranks, x);
        mass.collect(x);
      }
      mass.close(x);
      const auto weight = static_cast<float>(mass.weight());
      Floats sums{weight * x[0], weight};
      comm.sum(sums);
      EXPECT_NEAR(sums[0], static_cast<float>(ranks * (ranks - 1)) / 2, 1e-4);
      EXPECT_NEAR(sums[1], static_cast<float>(ranks), 1e-5);
    });
}

TEST(Gossip, AnExchangeSendsOneModelAndAHeader) {
  NEEDS_SIMULATOR;
  constexpr std::size_t kCount = 1000;
  constexpr std::uint64_t kExchange = 4 * kCount + 32;
  for (const int ranks : {2, 3, 5})
    for (const char* mode : {"gossip:", "gossip:lag=2,", "gossip:mode=push,", "gossip:mode=push,push_sum,"})
      for (const std::int64_t period : {1, 3}) {
        const std::string spec = mode + ("period=" + std::to_string(period));
        EXPECT_EQ(payload_sent(ranks, spec, 12, kCount),
                  static_cast<std::uint64_t>(ranks * 12 / period) * kExchange)
            << ranks << " ranks, " << spec;
      }
}

// Virtual time, not the machine's: a fast rank's steps take what its gradients take, and its pulls where it waits for them.
TEST(Gossip, NobodyWaitsForAStraggler) {
  NEEDS_SIMULATOR;
  for (const std::string spec : {"gossip", "gossip:lag=2", "gossip:mode=push", "gossip:mode=push,push_sum"}) {
    const double pulls = spec == "gossip" ? 0.05 : 1e-6;
    Cluster cluster = cluster_of(4);
    cluster.stragglers.push_back({.ranks = {3}, .factor = 20});
    simulate(cluster, [&](Process& me) {
      FewNumbers r(me, spec, 10000);
      me.control().barrier();
      const Seconds start = me.tasks().clock().now();
      for (std::int64_t t = 0; t < 50; ++t) r.step(t);
      const double expected = me.rank() == 3 ? 10 : 0.5;
      EXPECT_NEAR((me.tasks().clock().now() - start).count(), expected, pulls) << spec;
      r.strategy->finish(r.worker);
    });
  }
}

TEST(Gossip, GoesOnWheneverARankCrashes) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"gossip", "gossip:mode=push", "gossip:mode=push,push_sum"}) expect_survival(spec);
}

TEST(Gossip, AResumedRunGivesTheSameBits) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"gossip", "gossip:lag=2", "gossip:mode=push", "gossip:mode=push,push_sum"})
    expect_resume(cluster_of(3), spec);
}

TEST(Gossip, LearnsWithEveryModeAndGraph) {
  for (const char* spec : {"gossip:lag=2", "gossip:peers=ring,period=4", "gossip:peers=exponential",
                           "gossip:probability=0.3", "gossip:mode=push", "gossip:mode=push,push_sum"}) {
    const Trained run = train({.strategy = spec, .steps = 40, .global_batch = 120});
    EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << spec;
    EXPECT_GT(*run.summary.accuracy, 0.8) << spec;
  }
}

TEST(Gossip, RefusesWhatCannotBe) {
  const auto made = [](const std::string& spec) {
    return refusal([&] { make_strategy(builtin_strategies(), spec, 4); });
  };
  EXPECT_NE(made("gossip:probability=1.5").find("probability"), std::string::npos);
  EXPECT_NE(made("gossip:probability=-0.1").find("probability"), std::string::npos);
  EXPECT_NE(made("gossip:period=0").find("period"), std::string::npos);
  EXPECT_NE(made("gossip:period=2,probability=0.5").find("keep one of the two"), std::string::npos);
  EXPECT_NE(made("gossip:peers=star").find("exponential"), std::string::npos);
  EXPECT_NE(made("gossip:mode=shout").find("push"), std::string::npos);
  EXPECT_NE(made("gossip:push_sum").find("push_sum"), std::string::npos);  // a pull has no weights
}

}  // namespace
}  // namespace tacit::test
