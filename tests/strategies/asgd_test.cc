// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/few_numbers.h"
#include "support/replicas.h"
#include "support/survival.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

TEST(Asgd, WithOneWorkerIsTheInnerOptimiserAloneBitForBit) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.9", "adam"})
    EXPECT_EQ(train({.strategy = "asgd", .ranks = 1, .optimizer = optimizer}).params[0],
              train({.strategy = "ssgd", .ranks = 1, .optimizer = optimizer}).params[0])
        << optimizer;
}

TEST(Asgd, EveryGradientOfEveryRankIsAppliedOnce) {
  // Gradients that do not depend on the weights: the order in which they come does not matter then.
  const ReplicaCase c{.strategy = "asgd:share=0.5", .ranks = 4, .steps = 9};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    std::vector<float> expected = weights_of(r);
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      const float g = static_cast<float>(r.rank() + 1) / 8;
      kernels::fill(g, r.gradient());
      strategy.step(r);
    }
    strategy.finish(r);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(weights_of(r)[i], expected[i] - 0.5F * 0.1F * 9 * (1 + 2 + 3 + 4) / 8, 1e-4F);
  });
}

TEST(Asgd, SendsAGradientAndGetsWeightsInOneTrip) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  const auto sent = [](std::int64_t steps) {
    return train({.strategy = "asgd:servers=1", .ranks = 2, .steps = steps}).summary;
  };
  const Summary few = sent(4);
  const Summary more = sent(9);
  EXPECT_EQ(more.bytes_payload - few.bytes_payload, 5 * (2 * model + 32));
  EXPECT_EQ(more.messages - few.messages, 5U * 3);  // header, gradient, weights
}

// The virtual time in which the first three of four ranks take 30 steps.
double time_of_the_others(double factor) {
  Cluster cluster = cluster_of(4);
  cluster.stragglers.push_back({.ranks = {3}, .factor = factor});
  return std::stod(from_child([&] {
    double longest = 0;
    World world = World::simulated(cluster, 1, without_limits());
    world.run([&](Process& me) {
      FewNumbers replica(me, "asgd", 10'000);
      const Seconds start = me.tasks().clock().now();
      for (std::int64_t t = 0; t < 30; ++t) replica.step(t);
      if (me.rank() != 3) longest = std::max(longest, (me.tasks().clock().now() - start).count());
      replica.strategy->finish(replica.worker);
    });
    return std::to_string(longest);
  }));
}

TEST(Asgd, OneStragglerDoesNotSlowTheOthers) {
  NEEDS_SIMULATOR;
  const double even = time_of_the_others(1);
  EXPECT_GT(even, 0.3);
  EXPECT_LE(time_of_the_others(20), 1.01 * even);
}

TEST(Asgd, GoesOnWheneverARankCrashes) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"asgd", "asgd:servers=1", "asgd:servers=3"}) expect_survival(spec);
}

TEST(Asgd, LearnsInAllShardsWhenTheirServersAreLost) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"asgd", "asgd:servers=1", "asgd:servers=2"}) expect_learning_without_servers(spec);
}

TEST(Asgd, MoreServersThanRanksAreRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "asgd:servers=5", 4), InvalidConfig);
  EXPECT_THROW(make_strategy(builtin_strategies(), "asgd:share=2", 4), InvalidConfig);
}

}  // namespace
}  // namespace tacit::test
