// SPDX-License-Identifier: MIT
// What every registered strategy must do, with its default options.
#include <gtest/gtest.h>

#include <cmath>

#include "support/simulate.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

class EveryStrategy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryStrategy, LowersTheLossAndEndsWithEqualFiniteWeights) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    TrainCase c{.strategy = GetParam(), .ranks = ranks, .steps = 40, .global_batch = 120};
    const Trained run = train(c);
    ASSERT_TRUE(run.summary.loss && run.summary.accuracy);
    EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << ranks << " ranks";
    EXPECT_GT(*run.summary.accuracy, 0.8) << ranks << " ranks";
    for (const auto& params : run.params) {
      EXPECT_EQ(params, run.params[0]) << ranks << " ranks";
      for (const float v : params) ASSERT_TRUE(std::isfinite(v));
    }
  }
}

// Of the weights; in virtual time, where who is faster is part of the run.
std::string simulated_hash(const TrainCase& c) {
  return from_child([&] {
    Cluster cluster = flat(c.ranks);
    cluster.step = Seconds(0.01);
    cluster.jitter = 0.3;
    World world = World::simulated(cluster, c.seed, without_limits());
    return train_in(world, c).summary.weights_hash;
  });
}

TEST_P(EveryStrategy, GivesTheSameBitsForTheSameSeed) {
  const bool asynchronous = builtin_strategies().find(GetParam()).asynchronous;
  if (asynchronous && !has_simulator()) GTEST_SKIP() << "built without the simulator";
  const auto hash = [&](const TrainCase& c) {
    return asynchronous ? simulated_hash(c) : train(c).summary.weights_hash;
  };
  const TrainCase c{.strategy = GetParam(), .ranks = 4, .steps = 25};
  const std::string once = hash(c);
  EXPECT_EQ(once, hash(c));
  TrainCase other = c;
  other.seed = 2;
  EXPECT_NE(once, hash(other));
}

TEST_P(EveryStrategy, WithOneRankSendsNothing) {
  EXPECT_EQ(train({.strategy = GetParam(), .ranks = 1, .steps = 10}).summary.bytes_wire, 0U);
}

TEST_P(EveryStrategy, RefusesAnUnknownOptionByName) {
  try {
    make_strategy(builtin_strategies(), GetParam() + ":no_such_option=1", 4);
    FAIL() << "accepted";
  } catch (const InvalidConfig& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_option"), std::string::npos) << error.what();
  }
}

// A rank whose third gradient fails.
TEST_P(EveryStrategy, AFailingRankEndsTheRunWithItsOwnError) {
  const TrainCase c{.strategy = GetParam()};
  World world = World::threads(4, {.limits = {Seconds(60), Seconds(20), nullptr}});
  NoObserver observer;
  TrainOptions options;
  options.strategy = c.strategy;
  options.batch = 10;
  options.steps = 40;
  std::vector<RankReport> reports(4);
  EXPECT_THROW(world.run([&](Process& me) {
    int asked = 0;
    const TrainJob job{test_data(),
                       builtin_strategies(),
                       [&] { return make_model(builtin_models(), c.model, test_context(1)); },
                       options,
                       observer,
                       [&] {
                         if (me.rank() == 2 && ++asked == 3) throw Diverged(2, 2, "on purpose");
                         return false;
                       }};
    train_rank(me, job, reports[static_cast<std::size_t>(me.rank())]);
  }),
               Diverged);
  EXPECT_EQ(reports[2].steps, 2);
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategy, ::testing::ValuesIn(builtin_strategies().names()),
                         [](const auto& each) { return each.param; });

TEST(StrategyRegistry, NamesTheNearestStrategyForAnUnknownOne) {
  try {
    make_strategy(builtin_strategies(), "sgsd", 4);
    FAIL() << "accepted";
  } catch (const InvalidConfig& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'ssgd'?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tacit::test
