// SPDX-License-Identifier: MIT
#include "train/evaluation_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tacit::test {
namespace {

using Curve = std::function<double(std::int64_t)>;

// The steps after which a run with this curve of accuracies is evaluated.
std::vector<std::int64_t> evaluated(EvaluationPlan plan, std::int64_t steps, const Curve& curve) {
  std::vector<std::int64_t> all;
  for (std::int64_t done = 1; done <= steps; ++done) {
    if (!plan.due(done)) continue;
    all.push_back(done);
    plan.record(done, curve(done));
  }
  return all;
}

double learning(std::int64_t step) { return 0.9 * (1 - std::exp(-static_cast<double>(step) / 60)); }

std::int64_t largest_distance(const std::vector<std::int64_t>& steps, std::int64_t from, std::int64_t to) {
  std::int64_t largest = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i] > from && steps[i - 1] < to) largest = std::max(largest, steps[i] - steps[i - 1]);
  return largest;
}

TEST(EvaluationPlan, WithoutATargetIsEverySoManySteps) {
  EXPECT_EQ(evaluated({20, std::nullopt}, 70, learning), (std::vector<std::int64_t>{20, 40, 60}));
  EXPECT_TRUE(evaluated({0, std::nullopt}, 70, learning).empty());
}

TEST(EvaluationPlan, IsFineWhereTheTargetIsPassedAndCoarseElsewhere) {
  const double target = 0.8;  // passed at step 132
  const auto steps = evaluated({20, target}, 400, learning);
  EXPECT_LE(largest_distance(steps, 120, 132), 4);
  EXPECT_EQ(largest_distance(steps, 160, 400), 20);
  EXPECT_LT(steps.size(), 400U / 20 + 25) << "what finer evaluations may cost";
}

TEST(EvaluationPlan, WithATargetAndNothingElseIsEveryTwentyStepsAtMost) {
  const auto steps = evaluated({0, 0.99}, 200, [](std::int64_t) { return 0.1; });
  EXPECT_EQ(largest_distance(steps, 0, 200), 20);
}

TEST(EvaluationPlan, IsNotFineForeverWhereTheAccuracyStaysBelowTheTarget) {
  const auto steps = evaluated({20, 0.91}, 2000, [](std::int64_t step) {
    return step < 100 ? learning(step) : 0.85;  // from there on it does not rise
  });
  EXPECT_EQ(largest_distance(steps, 200, 2000), 20);
  EXPECT_LT(steps.size(), 2000U / 20 + 25);
}

TEST(EvaluationPlan, StaysCoarseOnceTheTargetWasReachedThoughTheAccuracyFallsBelowIt) {
  const auto steps = evaluated({20, 0.4}, 400, [](std::int64_t step) {
    return step < 60 ? learning(step) : 0.3 + 0.0002 * static_cast<double>(step);  // rises towards it again
  });
  const auto reached = std::find_if(steps.begin(), steps.end(), [](std::int64_t step) { return step >= 60; });
  ASSERT_NE(reached, steps.end());
  for (auto step = reached + 1; step != steps.end(); ++step) EXPECT_EQ(*step - *(step - 1), 20) << *step;
}

TEST(EvaluationPlan, CountsTheEndsOfEpochsToo) {
  EvaluationPlan plan(20, 0.9);
  plan.record(1, 0.1);
  EXPECT_FALSE(plan.due(2)) << "the distance is counted from the last evaluation, which doubled it";
  EXPECT_TRUE(plan.due(5));
}

Evaluated at(double seconds, double accuracy) { return {0, 0, 0, accuracy, seconds}; }

TEST(SecondsTo, AreOnTheLineBetweenTheTwoEvaluationsAroundTheTarget) {
  const std::vector<Evaluated> all{at(1, 0.2), at(2, 0.6), at(4, 0.8), at(5, 0.7)};
  EXPECT_DOUBLE_EQ(*seconds_to(all, 0.7), 3);
  EXPECT_DOUBLE_EQ(*seconds_to(all, 0.8), 4);
  EXPECT_DOUBLE_EQ(*seconds_to(all, 0.4), 1.5);
}

TEST(SecondsTo, AreThoseOfTheFirstEvaluationWhereThatHasItAlready) {
  EXPECT_DOUBLE_EQ(*seconds_to(std::vector{at(3, 0.6), at(4, 0.7)}, 0.5), 3);
}

TEST(SecondsTo, AreNoneWhereItWasNotReached) {
  EXPECT_FALSE(seconds_to(std::vector{at(3, 0.6), at(4, 0.7)}, 0.71));
  EXPECT_FALSE(seconds_to({}, 0.1));
}

TEST(SecondsTo, AgreeWithinAPercentWithACurveThatThePlanSampled) {
  std::vector<Evaluated> all;
  for (const std::int64_t step : evaluated({20, 0.8}, 400, learning))
    all.push_back(at(static_cast<double>(step), learning(step)));
  const double exact = -60 * std::log(1 - 0.8 / 0.9);
  EXPECT_NEAR(*seconds_to(all, 0.8), exact, 0.01 * exact);
}

}  // namespace
}  // namespace tacit::test
