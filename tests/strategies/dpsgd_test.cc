// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/replica_laws.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

TEST(DPsgd, OnTheCompleteGraphTheMeanOfAllTakesThePlaceOfEveryReplica) {
  // All replicas of a step are equal to the mean of the last ones but for their own gradient.
  const ReplicaCase c{.strategy = "dpsgd:graph=uniform", .ranks = 5, .steps = 6};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      r.compute();
      std::vector<float> mean = weights_of(r);
      r.control().mean(mean);
      strategy.step(r);
      const std::vector<float> now = weights_of(r);
      const std::vector<float> g = gradient_of(r);
      for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(now[i], mean[i] - r.lr() * g[i], 1e-5F);
    }
    strategy.finish(r);
  });
}

TEST(DPsgd, OnTheRingEveryRankTakesAThirdOfItselfAndOfBothNeighbours) {
  const ReplicaCase c{.strategy = "dpsgd", .ranks = 5, .steps = 4};
  Weights before(5);
  Weights gradient(5);
  Weights after(5);
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    take_steps(r, strategy, 0, 3);
    const auto me = static_cast<std::size_t>(r.rank());
    before[me] = weights_of(r);
    r.set_t(3);
    r.compute();
    gradient[me] = gradient_of(r);
    strategy.step(r);
    after[me] = weights_of(r);
    strategy.finish(r);
  });
  for (std::size_t me = 0; me < 5; ++me)
    for (std::size_t i = 0; i < after[me].size(); ++i) {
      const float mix = (before[me][i] + before[(me + 1) % 5][i] + before[(me + 4) % 5][i]) / 3;
      ASSERT_NEAR(after[me][i], mix - 0.1F * gradient[me][i], 1e-6F);
    }
}

TEST(DPsgd, TheMeanOfAllReplicasMovesByTheMeanGradientOnEveryGraph) {
  for (const char* graph : {"ring", "uniform", "exponential"})
    for (const int ranks : {2, 3, 4, 5, 8})
      expect_mean_moves_by_gradients_alone(
          {.strategy = std::string("dpsgd:graph=") + graph, .ranks = ranks, .steps = 3});
}

TEST(DPsgd, WithOneRankIsPlainSgd) {
  EXPECT_EQ(train({.strategy = "dpsgd", .ranks = 1}).params[0],
            train({.strategy = "ssgd", .ranks = 1}).params[0]);
}

TEST(DPsgd, SendsItsWeightsToEveryNeighbourOncePerStepAndOnceBefore) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  const auto bytes = [](const char* strategy, int ranks, std::int64_t steps) {
    return train({.strategy = strategy, .ranks = ranks, .steps = steps}).summary.bytes_payload;
  };
  EXPECT_EQ(bytes("dpsgd", 4, 7) - bytes("dpsgd", 4, 6), 4 * 2 * model);
  EXPECT_EQ(bytes("dpsgd", 2, 7) - bytes("dpsgd", 2, 6), 2 * 1 * model);
  EXPECT_EQ(bytes("dpsgd:graph=uniform", 4, 7) - bytes("dpsgd:graph=uniform", 4, 6), 4 * 3 * model);
  EXPECT_EQ(bytes("dpsgd:graph=exponential", 5, 7) - bytes("dpsgd:graph=exponential", 5, 6), 5 * 3 * model);
  EXPECT_EQ(bytes("dpsgd", 2, 1), model + 2 * 2 * model + 2 * model);  // start, two exchanges, the last mean
}

TEST(DPsgd, AGraphThatNobodyKnowsIsRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "dpsgd:graph=star", 4), InvalidConfig);
}

}  // namespace
}  // namespace tacit::test
