// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/replica_laws.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

void expect_near(const Trained& a, const Trained& b, float tolerance) {
  ASSERT_EQ(a.params[0].size(), b.params[0].size());
  for (std::size_t i = 0; i < a.params[0].size(); ++i) ASSERT_NEAR(a.params[0][i], b.params[0][i], tolerance);
}

TEST(DiLoCo, WithPeriodOneAndAPlainOuterStepIsSynchronousSgd) {
  for (const char* optimizer : {"sgd", "sgd:weight_decay=0.01"})
    expect_near(train({.strategy = "diloco:period=1,outer_lr=1,momentum=0", .optimizer = optimizer}),
                train({.strategy = "ssgd", .optimizer = optimizer}), 2e-5F);
}

TEST(DiLoCo, WithAPlainOuterStepIsLocalSgd) {
  expect_near(train({.strategy = "diloco:period=5,outer_lr=1,momentum=0", .optimizer = "adam"}),
              train({.strategy = "local:period=5", .optimizer = "adam"}), 2e-5F);
}

TEST(DiLoCo, TakesOuterStepsWithNesterovMomentum) {
  constexpr float kRate = 0.7F;
  constexpr float kMomentum = 0.9F;
  const ReplicaCase c{.strategy = "diloco:period=2", .ranks = 3};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    std::vector<float> theta = weights_of(r);
    std::vector<float> m(theta.size());
    for (std::int64_t round = 0; round < 4; ++round) {
      take_steps(r, strategy, 2 * round, 2 * round + 1);
      r.set_t(2 * round + 1);
      r.compute();
      const std::vector<float> mean = mean_of_plain_steps(r);
      strategy.step(r);
      const std::vector<float> now = weights_of(r);
      for (std::size_t i = 0; i < theta.size(); ++i) {
        const float delta = theta[i] - mean[i];
        m[i] = kMomentum * m[i] + delta;
        theta[i] -= kRate * (delta + kMomentum * m[i]);
        ASSERT_NEAR(now[i], theta[i], 1e-5F) << "round " << round;
      }
    }
    strategy.finish(r);
  });
}

TEST(DiLoCo, SendsOneModelPerPeriodAndOneAtTheEndIfItIsDue) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  const auto bytes = [](std::int64_t steps) {
    return train({.strategy = "diloco:period=5", .ranks = 2, .steps = steps}).summary.bytes_payload;
  };
  EXPECT_EQ(bytes(20), model + 4 * 2 * model);
  EXPECT_EQ(bytes(22), model + 5 * 2 * model);
}

TEST(DiLoCo, TakesACompressorThatChangesNothing) {
  const TrainCase plain{.strategy = "diloco:period=4", .ranks = 2, .steps = 16};
  TrainCase coded = plain;
  coded.compress = "identity";
  expect_near(train(plain), train(coded), 1e-5F);
}

TEST(DiLoCo, AnOuterMomentumOfOneIsRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "diloco:momentum=1", 4), InvalidConfig);
}

TEST(DiLoCo, ResumesToTheBitInsideARoundBetweenTwoAndAtTheEnd) {
  for (const char* spec : {"diloco:period=3", "diloco:period=4,momentum=0"})
    expect_rounds_resume_to_the_bit(spec);
}

}  // namespace
}  // namespace tacit::test
