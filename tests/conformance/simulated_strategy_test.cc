// SPDX-License-Identifier: MIT
// What every registered strategy must do on a simulated cluster, with its default options.
#include <gtest/gtest.h>

#include <cmath>

#include "support/simulate.h"
#include "support/train.h"

namespace tacit::test {
namespace {

class EverySimulatedStrategy : public ::testing::TestWithParam<std::string> {};

// A network and machines that bring ranks out of step.
Cluster uneven(int ranks) {
  Cluster cluster = flat(ranks);
  cluster.step = Seconds(0.001);
  cluster.jitter = 0.3;
  cluster.stragglers.push_back({{}, 1, Seconds(0.003), 1});
  return cluster;
}

TEST_P(EverySimulatedStrategy, LowersTheLossAndEndsWithEqualFiniteWeights) {
  for (const int ranks : {1, 2, 3, 4, 5, 8})
    in_child([&] {
      World world = World::simulated(uneven(ranks), 1, without_limits());
      const TrainCase c{.strategy = GetParam(), .ranks = ranks, .steps = 40, .global_batch = 120};
      const Trained run = train_in(world, c);
      ASSERT_TRUE(run.summary.loss && run.summary.accuracy);
      EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << ranks << " ranks";
      EXPECT_GT(*run.summary.accuracy, 0.8) << ranks << " ranks";
      for (const auto& params : run.params) {
        EXPECT_EQ(params, run.params[0]) << ranks << " ranks";
        for (const float v : params) ASSERT_TRUE(std::isfinite(v));
      }
    });
}

TEST_P(EverySimulatedStrategy, GivesTheSameTraceForTheSameSeed) {
  const auto run = [&](std::uint64_t seed) {
    return from_child([&] {
      World world = World::simulated(uneven(5), seed, without_limits());
      TrainCase c{.strategy = GetParam(), .ranks = 5, .steps = 25, .global_batch = 40};
      c.seed = seed;
      return train_in(world, c).summary.weights_hash + " " + world.trace_hash();
    });
  };
  const std::string first = run(1);
  EXPECT_EQ(first.size(), 33U);
  EXPECT_EQ(first, run(1));
  EXPECT_NE(first, run(2));
}

INSTANTIATE_TEST_SUITE_P(All, EverySimulatedStrategy, ::testing::ValuesIn(builtin_strategies().names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace tacit::test
