// SPDX-License-Identifier: MIT
// Whole runs of the trainer with every registered strategy and its default options, in every world.
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/strategy_forms.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

class EveryTrainedStrategy : public StrategyInWorld {};

std::vector<StrategyForm> default_forms() {
  std::vector<StrategyForm> all;
  for (const std::string& name : builtin_strategies().names()) all.push_back({name, ""});
  return all;
}

TEST_P(EveryTrainedStrategy, LowersTheLossAndEndsWithEqualFiniteWeights) {
  for (const int ranks : kRankCounts)
    open(ranks, Pace::kUneven, [&](const OpenWorld& world) {
      const TrainCase c{.strategy = form().strategy, .ranks = ranks, .steps = 40, .global_batch = 120};
      const Trained run = train_by(world.run, c);
      ASSERT_TRUE(run.summary.loss && run.summary.accuracy);
      EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << ranks << " ranks";
      EXPECT_GT(*run.summary.accuracy, 0.8) << ranks << " ranks";
      if (ranks == 1) {
        EXPECT_EQ(run.summary.bytes_wire, 0U);
      }
      for (const auto& params : run.params) {
        EXPECT_EQ(params, run.params[0]) << ranks << " ranks";
        for (const float v : params) ASSERT_TRUE(std::isfinite(v));
      }
    });
}

INSTANTIATE_TEST_SUITE_P(All, EveryTrainedStrategy, ::testing::ValuesIn(everywhere(default_forms())),
                         test_name);

class EverySeededStrategy : public StrategyInWorld {};

TEST_P(EverySeededStrategy, GivesTheSameBitsForTheSameSeedAndOthersForAnother) {
  const auto run = [&](std::uint64_t seed) {
    return ask(4, Pace::kUneven, [&](const OpenWorld& world) {
      TrainCase c{.strategy = form().strategy, .ranks = 4, .steps = 20};
      c.seed = seed;
      return train_by(world.run, c).summary.weights_hash + world.trace();
    });
  };
  const std::string once = run(1);
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(once, run(1));
  EXPECT_NE(once, run(2));
}

INSTANTIATE_TEST_SUITE_P(All, EverySeededStrategy,
                         ::testing::ValuesIn(deterministic(everywhere(default_forms()))), test_name);

class EveryStrategyOfThreads : public StrategyInWorld {};

// A rank whose third gradient fails.
TEST_P(EveryStrategyOfThreads, AFailingRankEndsTheRunWithItsOwnError) {
  NoObserver observer;
  TrainOptions options;
  options.strategy = form().strategy;
  options.batch = 10;
  options.steps = 40;
  std::vector<RankReport> reports(4);
  open(4, Pace::kSteady, [&](const OpenWorld& world) {
    EXPECT_THROW(world.run([&](Process& me) {
      int asked = 0;
      const TrainJob job{test_data(),
                         builtin_strategies(),
                         [&] { return make_model(builtin_models(), "mlp:hidden=9", test_context(1)); },
                         options,
                         observer,
                         [&] {
                           if (me.rank() == 2 && ++asked == 3) throw Diverged(2, 2, "on purpose");
                           return false;
                         }};
      train_rank(me, job, reports[static_cast<std::size_t>(me.rank())]);
    }),
                 Diverged);
  });
  EXPECT_EQ(reports[2].steps, 2);
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategyOfThreads, ::testing::ValuesIn(in_one("threads", default_forms())),
                         test_name);

TEST(StrategyRegistry, EveryStrategyRefusesAnUnknownOptionByName) {
  for (const std::string& name : builtin_strategies().names()) try {
      make_strategy(builtin_strategies(), name + ":no_such_option=1", 4);
      FAIL() << "accepted";
    } catch (const InvalidConfig& error) {
      EXPECT_NE(std::string(error.what()).find("no_such_option"), std::string::npos) << error.what();
    }
}

TEST(StrategyRegistry, NamesTheNearestStrategyForAnUnknownOne) {
  try {
    make_strategy(builtin_strategies(), "sgsd", 4);
    FAIL() << "accepted";
  } catch (const InvalidConfig& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'ssgd'?"), std::string::npos) << error.what();
  }
}

TEST(StrategyRegistry, EveryExampleFitsEightRanks) {
  for (const StrategyForm& form : all_forms()) EXPECT_TRUE(form.fits(8)) << form.strategy;
}

}  // namespace
}  // namespace tacit::test
