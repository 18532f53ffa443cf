// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/replica_laws.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

TEST(Local, WithPeriodOneIsSynchronousSgd) {
  for (const char* optimizer : {"sgd", "sgd:weight_decay=0.01"}) {
    const Trained a = train({.strategy = "local:period=1", .optimizer = optimizer});
    const Trained b = train({.strategy = "ssgd", .optimizer = optimizer});
    ASSERT_EQ(a.params[0].size(), b.params[0].size());
    for (std::size_t i = 0; i < a.params[0].size(); ++i) ASSERT_NEAR(a.params[0][i], b.params[0][i], 2e-5F);
  }
}

TEST(Local, WithOneRankIsPlainSgd) {
  EXPECT_EQ(train({.strategy = "local:period=3", .ranks = 1}).params[0],
            train({.strategy = "ssgd", .ranks = 1}).params[0]);
}

std::uint64_t bytes(const std::string& strategy, std::int64_t steps) {
  return train({.strategy = strategy, .ranks = 2, .steps = steps}).summary.bytes_payload;
}

TEST(Local, SendsOneModelPerPeriodAndOneAtTheEndIfItIsDue) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  const std::size_t start = model;  // rank 0's weights
  EXPECT_EQ(bytes("local:period=5", 20), start + 4 * 2 * model);
  EXPECT_EQ(bytes("local:period=5", 22), start + 5 * 2 * model);
  EXPECT_EQ(bytes("local:period=100", 20), start + 1 * 2 * model);
}

TEST(Local, OnAQuadraticTheMeanOfTheReplicasIsTheSynchronousRunWhateverThePeriod) {
  // Gradients are linear in the weights, so averaging weights and averaging gradients commute: the mean over ranks of
  // x - lr A (x - c) is the same whether taken now or later.
  const TrainCase sync{.strategy = "ssgd", .steps = 24, .model = "quadratic", .lr = 0.05};
  TrainCase local = sync;
  const Trained reference = train(sync);
  for (const char* period : {"2", "7", "24"}) {
    local.strategy = std::string("local:period=") + period;
    const Trained run = train(local);
    for (std::size_t i = 0; i < run.params[0].size(); ++i)
      ASSERT_NEAR(run.params[0][i], reference.params[0][i], 1e-4F) << "period " << period;
  }
}

TEST(Local, APeriodBelowOneIsRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "local:period=0", 4), InvalidConfig);
  EXPECT_THROW(make_strategy(builtin_strategies(), "local:period=4x", 4), InvalidConfig);
}

TEST(Local, ResumesToTheBitInsideARoundBetweenTwoAndAtTheEnd) {
  expect_rounds_resume_to_the_bit("local:period=3");
}

}  // namespace
}  // namespace tacit::test
