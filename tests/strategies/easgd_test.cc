// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/few_numbers.h"
#include "support/replicas.h"
#include "support/survival.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

// A run of one rank's steps without anybody else.
std::vector<float> alone(Replica& r, std::vector<float> x, std::int64_t steps) {
  copy(x, r.params());
  for (std::int64_t t = 0; t < steps; ++t) {
    r.set_t(t);
    r.compute();
    r.apply(r.gradient());
  }
  return weights_of(r);
}

TEST(Easgd, WithRateZeroWorkersAreIndependentAndTheCentreStays) {
  const ReplicaCase c{.strategy = "easgd:rate=0,period=1", .ranks = 3, .steps = 6};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    const std::vector<float> start = weights_of(r);
    take_steps(r, strategy, 0, c.steps);
    const std::vector<float> moved = weights_of(r);
    std::vector<float> centre(start.size());
    strategy.model(r, centre);
    EXPECT_EQ(centre, start);
    strategy.finish(r);
    EXPECT_EQ(weights_of(r), start);
    EXPECT_EQ(alone(r, start, c.steps), moved);
  });
}

TEST(Easgd, TheSumOfAllReplicasAndTheCentreChangesByGradientsAlone) {
  for (const char* spec : {"easgd:period=1", "easgd:period=1,servers=1", "easgd:period=2,rate=0.4"}) {
    const ReplicaCase c{.strategy = spec, .ranks = 4, .steps = 8};
    with_replicas(c, [&](Replica& r, Strategy& strategy) {
      std::vector<float> expected = weights_of(r);  // the start, times (P + 1)
      const float all = static_cast<float>(c.ranks + 1);
      for (float& x : expected) x *= all;
      for (std::int64_t t = 0; t < c.steps; ++t) {
        r.set_t(t);
        r.compute();
        std::vector<float> g = gradient_of(r);
        r.control().sum(g);
        for (std::size_t i = 0; i < g.size(); ++i) expected[i] -= r.lr() * g[i];
        strategy.step(r);
        r.control().barrier();  // all have exchanged
        std::vector<float> sum = weights_of(r);
        r.control().sum(sum);
        std::vector<float> centre(sum.size());
        strategy.model(r, centre);
        for (std::size_t i = 0; i < sum.size(); ++i)
          ASSERT_NEAR(sum[i] + centre[i], expected[i], 1e-4F) << spec;
        r.control().barrier();  // nobody goes on while others look
      }
      strategy.finish(r);
    });
  }
}

TEST(Easgd, OneRankAndItsCentreMoveTowardsEachOtherByTheRate) {
  const ReplicaCase c{.strategy = "easgd:period=1,rate=0.25", .ranks = 1, .steps = 1};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    const std::vector<float> start = weights_of(r);
    r.set_t(0);
    r.compute();
    const std::vector<float> g = gradient_of(r);
    strategy.step(r);
    std::vector<float> centre(start.size());
    strategy.model(r, centre);
    for (std::size_t i = 0; i < start.size(); ++i) {
      ASSERT_NEAR(weights_of(r)[i], start[i] - 0.75F * r.lr() * g[i], 1e-6F);
      ASSERT_NEAR(centre[i], start[i] - 0.25F * r.lr() * g[i], 1e-6F);
    }
    strategy.finish(r);
    EXPECT_EQ(weights_of(r), centre);
  });
}

TEST(Easgd, SendsItsWeightsAndGetsThePullOncePerPeriod) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  const auto bytes = [](const std::string& spec, std::int64_t steps) {
    return train({.strategy = spec, .ranks = 2, .steps = steps}).summary.bytes_payload;
  };
  // With one server the other rank sends a model there and gets one back, with a header of 32 bytes.
  EXPECT_EQ(bytes("easgd:servers=1,period=5", 20) - bytes("easgd:servers=1,period=5", 10),
            2 * (2 * model + 32));
  EXPECT_EQ(bytes("easgd:servers=1,period=5", 12), bytes("easgd:servers=1,period=5", 10));
}

TEST(Easgd, GoesOnWheneverARankCrashes) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"easgd:period=1", "easgd", "easgd:period=2,servers=1"}) expect_survival(spec);
}

TEST(Easgd, LearnsInAllShardsWhenTheirServersAreLost) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"easgd", "easgd:period=1,servers=1", "easgd:servers=2,rate=0.4"})
    expect_learning_without_servers(spec);
}

// Nobody exchanges anything before the end: the centre stays zero but for what a crash took, which begins anew with the
// weights of the next rank.
TEST(Easgd, WithoutExchangesEndsWithTheWeightsOfTheNextRankInPlaceOfALostShard) {
  NEEDS_SIMULATOR;
  WorldOptions options = without_limits();
  options.survive = true;
  Cluster cluster = cluster_of(4);
  cluster.crashes.push_back({1, Seconds(0.1)});
  simulate(
      cluster,
      [](Process& me) {
        FewNumbers r(me, "easgd:period=1000", 16 * 4);
        for (std::int64_t t = 0; t < 20; ++t) r.step(t);
        r.strategy->finish(r.worker);
        for (std::size_t i = 0; i < 16 * 4; ++i)
          EXPECT_EQ(r.worker.params().host()[i], i / 16 == 1 ? 3.0F : 0.0F) << "number " << i;
      },
      [](World&) {}, options);
}

TEST(Easgd, ARateAboveOneIsRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "easgd:rate=1.5", 4), InvalidConfig);
  EXPECT_THROW(make_strategy(builtin_strategies(), "easgd:servers=5", 4), InvalidConfig);
}

}  // namespace
}  // namespace tacit::test
