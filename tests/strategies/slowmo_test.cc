// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/replica_laws.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

TEST(SlowMo, WithoutMomentumAndWithWholeStepsIsLocalSgdBitForBit) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
    const Trained slow =
        train({.strategy = "slowmo:period=4,beta=0,alpha=1", .steps = 22, .optimizer = optimizer});
    const Trained local = train({.strategy = "local:period=4", .steps = 22, .optimizer = optimizer});
    EXPECT_EQ(slow.params[0], local.params[0]) << optimizer;
  }
}

// Three rounds by hand, on every rank alike.
TEST(SlowMo, TakesTheStepOfThePaper) {
  constexpr float kAlpha = 0.8F;
  constexpr float kBeta = 0.6F;
  const ReplicaCase c{.strategy = "slowmo:period=3,alpha=0.8,beta=0.6", .ranks = 3};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    std::vector<float> base = weights_of(r);
    std::vector<float> u(base.size());
    for (std::int64_t round = 0; round < 3; ++round) {
      take_steps(r, strategy, 3 * round, 3 * round + 2);
      r.set_t(3 * round + 2);
      r.compute();
      const std::vector<float> mean = mean_of_plain_steps(r);
      strategy.step(r);
      for (std::size_t i = 0; i < base.size(); ++i) {
        u[i] = kBeta * u[i] + (base[i] - mean[i]) / r.lr();
        base[i] -= kAlpha * r.lr() * u[i];
        ASSERT_NEAR(weights_of(r)[i], base[i], 1e-5F) << "round " << round;
      }
    }
    strategy.finish(r);
  });
}

TEST(SlowMo, ARateOfZeroMovesNothingAndForgetsNothing) {
  const auto zero_in_between = [](std::int64_t t) { return t >= 4 && t < 8 ? 0.0F : 0.1F; };
  const ReplicaCase c{.strategy = "slowmo:period=2", .ranks = 2, .steps = 12, .lr = zero_in_between};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    take_steps(r, strategy, 0, 4);
    const std::vector<float> before = weights_of(r);
    take_steps(r, strategy, 4, 8);
    EXPECT_EQ(weights_of(r), before);
    take_steps(r, strategy, 8, 12);
    for (const float x : weights_of(r)) ASSERT_TRUE(std::isfinite(x));
    strategy.finish(r);
  });
}

TEST(SlowMo, BuffersAreKeptForgottenOrAveragedAfterASlowStep) {
  const auto momenta = [](const std::string& buffers) {
    Weights all(2);
    with_replicas(
        {.strategy = "slowmo:period=3,buffers=" + buffers, .ranks = 2, .optimizer = "sgd:momentum=0.9"},
        [&](Replica& r, Strategy& strategy) {
          take_steps(r, strategy, 0, 3);
          for (const NamedView& each : r.optimizer().state()) {
            const auto values = each.values.host();
            all[static_cast<std::size_t>(r.rank())].assign(values.begin(), values.end());
          }
          strategy.finish(r);
        });
    return all;
  };
  const Weights kept = momenta("keep");
  EXPECT_NE(kept[0], kept[1]);
  const Weights averaged = momenta("average");
  EXPECT_EQ(averaged[0], averaged[1]);
  for (std::size_t i = 0; i < kept[0].size(); ++i)
    ASSERT_NEAR(averaged[0][i], (kept[0][i] + kept[1][i]) / 2, 1e-5F);
  for (const std::vector<float>& each : momenta("reset"))
    for (const float x : each) ASSERT_EQ(x, 0.0F);
}

TEST(SlowMo, SendsWhatLocalSgdSends) {
  const auto bytes = [](const std::string& strategy) {
    return train({.strategy = strategy, .ranks = 3, .steps = 14}).summary.bytes_payload;
  };
  EXPECT_EQ(bytes("slowmo:period=4"), bytes("local:period=4"));
}

TEST(SlowMo, TakesACompressorThatChangesNothing) {
  const TrainCase plain{.strategy = "slowmo:period=4", .ranks = 2, .steps = 16};
  TrainCase coded = plain;
  coded.compress = "identity";
  const Trained a = train(plain);
  const Trained b = train(coded);
  for (std::size_t i = 0; i < a.params[0].size(); ++i) ASSERT_NEAR(a.params[0][i], b.params[0][i], 1e-5F);
}

TEST(SlowMo, AMomentumOfOneIsRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "slowmo:beta=1", 4), InvalidConfig);
  EXPECT_THROW(make_strategy(builtin_strategies(), "slowmo:buffers=drop", 4), InvalidConfig);
}

TEST(SlowMo, ResumesToTheBitInsideARoundBetweenTwoAndAtTheEnd) {
  for (const char* spec : {"slowmo:period=3,beta=0.6", "slowmo:period=3,alpha=0.5,buffers=average"})
    expect_rounds_resume_to_the_bit(spec);
}

}  // namespace
}  // namespace tacit::test
