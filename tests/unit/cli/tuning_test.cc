// SPDX-License-Identifier: MIT
#include "cli/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/held_out.h"
#include "cli/tuning_report.h"
#include "support/refusal.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

using test::expect_parts;
using test::refusal;

constexpr double kMargin = 0.05;

// One run for each accuracy; of one that is negative, the run diverged.
Row row_with(const std::vector<double>& accuracies) {
  Row row{"ssgd lr", 4, {}};
  for (const double each : accuracies) {
    Outcome o;
    o.seed = 100 + row.outcomes.size();
    o.status = each < 0 ? RunStatus::kDiverged : RunStatus::kFinished;
    o.accuracy = std::abs(each);
    row.outcomes.push_back(o);
  }
  return row;
}

Candidate candidate(std::vector<double> rates) { return {{"ssgd", "ssgd"}, std::move(rates)}; }

Choice choice(const std::vector<double>& rates, const std::vector<std::vector<double>>& accuracies) {
  std::vector<Row> rows;
  for (const auto& each : accuracies) rows.push_back(row_with(each));
  return choose(candidate(rates), rows, kMargin);
}

TEST(Tuning, TheBestRateHasTheHighestMeanAndTheRunnerUpTheNext) {
  const Choice c = choice({0.1, 0.2, 0.4}, {{0.80, 0.82}, {0.84, 0.86}, {0.83, 0.851}});
  EXPECT_EQ(c.best, 1U);
  EXPECT_EQ(c.runner_up, 2U);
  EXPECT_NEAR(c.lead->sample.mean, 0.0095, 1e-12);
  EXPECT_FALSE(c.at_low_end || c.at_high_end);
  EXPECT_EQ(choice({0.1, 0.2}, {{0.8}, {0.8}}).best, 0U) << "of two equal ones the smaller";
}

TEST(Tuning, ARateAtWhichOneRunDivergedIsNotTaken) {
  const Choice c = choice({0.1, 0.2, 0.4}, {{0.80, 0.80}, {0.82, 0.82}, {0.99, -0.99}});
  EXPECT_EQ(c.best, 1U);
  EXPECT_EQ(c.runner_up, 0U);
  EXPECT_FALSE(c.at_high_end) << "what lies beyond was seen";
}

TEST(Tuning, TheLargestStableRateIsTheLastThatStaysNearTheBestWithEverySeed) {
  EXPECT_EQ(choice({1, 2, 3, 4}, {{0.80}, {0.86}, {0.82}, {0.60}}).stable, 2U);
  EXPECT_EQ(choice({1, 2, 3}, {{0.80, 0.80}, {0.86, 0.86}, {0.86, 0.80}}).stable, 1U)
      << "one seed is too many";
  EXPECT_EQ(choice({1, 2, 3}, {{0.80}, {0.79}, {-0.80}}).stable, 1U);
  EXPECT_EQ(choice({1, 2, 3}, {{0.70}, {0.86}, {0.85}}).stable, 2U);
}

TEST(Tuning, AGridThatEndsAtItsBestGrowsThere) {
  std::vector<Candidate> all{candidate({0.01, 0.02, 0.04})};
  const auto choices = [&](std::vector<std::vector<double>> accuracies) {
    std::vector<Row> rows;
    for (const auto& each : accuracies) rows.push_back(row_with(each));
    return std::vector<Choice>{choose(all[0], rows, kMargin)};
  };
  EXPECT_TRUE(extend(all, choices({{0.7}, {0.8}, {0.9}}), 2));
  EXPECT_EQ(all[0].rates, (std::vector<double>{0.01, 0.02, 0.04, 0.08}));
  EXPECT_FALSE(extend(all, choices({{0.7}, {0.8}, {0.9}, {0.8}}), 2)) << "its best is inside";
  EXPECT_TRUE(extend(all, choices({{0.9}, {0.8}, {0.8}, {0.8}}), 2));
  EXPECT_EQ(all[0].rates, (std::vector<double>{0.005, 0.01, 0.02, 0.04, 0.08}));
  EXPECT_FALSE(extend(all, choices({{0.9}, {0.8}, {0.8}, {0.8}, {0.8}}), 2)) << "by as many as it may";
}

TEST(Tuning, WhereEveryRateDivergesLowerOnesAreTried) {
  std::vector<Candidate> all{candidate({1, 2})};
  const Choice c = choose(all[0], {row_with({-0.1}), row_with({-0.1})}, kMargin);
  EXPECT_FALSE(c.best);
  EXPECT_TRUE(extend(all, {c}, 1));
  EXPECT_EQ(all[0].rates, (std::vector<double>{0.5, 1, 2}));
  Row failed = row_with({0.5});
  failed.outcomes[0] = outcome_without_numbers(100, RunStatus::kFailed, "why");
  EXPECT_FALSE(choose(candidate({1}), {failed}, kMargin).at_low_end) << "a smaller rate mends no failure";
}

TEST(Tuning, ASingleRateIsBothEndsOfItsGrid) {
  std::vector<Candidate> all{candidate({0.3})};
  EXPECT_TRUE(extend(all, {choose(all[0], {row_with({0.5})}, kMargin)}, 4));
  EXPECT_EQ(all[0].rates, (std::vector<double>{0.15, 0.3, 0.6}));
}

TEST(Tuning, WhatAGridMayGrowToHoldsWhatItGrowsTo) {
  std::vector<Candidate> all{candidate({0.01, 0.03})};
  const std::vector<double> far = farthest(all, 3)[0].rates;
  EXPECT_EQ(far.size(), 8U);
  for (int round = 0; round < 3; ++round) {
    std::vector<Row> rows(all[0].rates.size(), row_with({0.5}));
    rows.back() = row_with({0.6});
    ASSERT_TRUE(extend(all, {choose(all[0], rows, kMargin)}, 3));
  }
  for (const double each : all[0].rates)
    EXPECT_NE(std::find(far.begin(), far.end(), each), far.end()) << each;
}

TEST(Tuning, RatesThatAreNoneAreRefused) {
  EXPECT_EQ(split_rates("0.02,1e-3"), (std::vector<double>{0.001, 0.02}));
  for (const char* none : {"0", "-0.1", "0.1,,0.2", "x", "0.1,nan", "inf", "0.1;0.2"})
    expect_parts(refusal([&] { split_rates(none); }), {"--rates: '", "positive numbers"});
  expect_parts(refusal([] { split_rates(""); }), {"--rates is empty"});
  expect_parts(refusal([] { split_rates("0.1,0.10"); }), {"--rates has 0.1 twice"});
}

TEST(Tuning, DataAreHeldOutAndGivenBack) {
  EXPECT_EQ(held_out("fashion-mnist", {}), "fashion-mnist:holdout=10000");
  EXPECT_EQ(held_out("fashion-mnist:limit=600", 50), "fashion-mnist:limit=600,holdout=50");
  EXPECT_EQ(held_out("mnist:holdout=7", {}), "mnist:holdout=7");
  EXPECT_EQ(without_holdout("mnist:path=a,holdout=7,limit=3"), "mnist:path=a,limit=3");
  EXPECT_EQ(without_holdout("mnist:holdout=7"), "mnist");
  EXPECT_EQ(without_holdout("mnist"), "mnist");
  expect_parts(refusal([] { held_out("synthetic:samples=9", {}); }),
               {"synthetic has no holdout=", "such as fashion-mnist"});
  expect_parts(refusal([] { held_out("mnist:holdout=7", 8); }), {"holdout=7", "--holdout 8", "give one"});
  expect_parts(refusal([] { held_out("mnist:holdout=0", {}); }), {"holdout=0 holds nothing out"});
  expect_parts(refusal([] { held_out("mnist", 0); }), {"--holdout 0 holds nothing out"});
}

Tuning tuning_with(std::vector<Choice> choices, std::size_t seeds) {
  Tuning t{"mnist:holdout=7", {}, kMargin, std::move(choices)};
  for (std::size_t i = 0; i < seeds; ++i) t.seeds.push_back(100 + i);
  return t;
}

TEST(Tuning, TheTableSaysHowSureAChoiceIs) {
  const auto shown = [](const Choice& c, std::size_t seeds) { return tuning_table(tuning_with({c}, seeds)); };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  const std::string sure = shown(choice({1, 2, 3}, {{0.5, 0.6}, {0.801, 0.9}, {0.7, 0.8}}), 2);
  EXPECT_TRUE(has(sure, " sure ")) << sure;
  EXPECT_FALSE(has(sure, "not sure")) << sure;
  const std::string unsure = shown(choice({1, 2, 3}, {{0.5, 0.6}, {0.84, 0.9}, {0.83, 0.899}}), 2);
  EXPECT_TRUE(has(unsure, "not sure")) << unsure;
  EXPECT_TRUE(has(unsure, "3 or more")) << unsure;
  EXPECT_TRUE(has(shown(choice({1, 2, 3}, {{0.5}, {0.8}, {0.7}}), 1), "unknown"));
  Choice part = choice({1, 2, 3}, {{0.5, 0.6}, {0.801, 0.9}, {0.7, 0.8}});
  part.rows[0].outcomes[1] = outcome_without_numbers(101, RunStatus::kMissing, "");
  EXPECT_TRUE(has(shown(part, 2), "unknown")) << "there is more to come";
  const std::string edge = shown(choice({1, 2}, {{0.5, 0.5}, {0.8, 0.8}}), 2);
  EXPECT_TRUE(
      has(edge, "ssgd: the grid ends at its best, 2, and a better one may lie beyond; give larger --rates"))
      << edge;
  const std::string none = shown(choice({1, 2}, {{-0.5, -0.5}, {-0.5, 0.1}}), 2);
  EXPECT_TRUE(has(none, "at every rate of the grid a run diverged")) << none;
  EXPECT_TRUE(has(none, "1 diverged")) << none;
}

TEST(Tuning, ItsTableFitsIntoAHundredColumnsAndIntoAnyTerminal) {
  std::vector<Choice> choices{
      choice({0.005, 0.01, 0.02}, {{0.80, 0.81}, {0.845, 0.86}, {0.81, 0.82}}),
      choice({0.01, 0.02, 0.04, 0.08}, {{0.80, 0.81}, {0.845, 0.86}, {0.81, 0.82}, {-0.1, -0.1}})};
  choices[1].name = "local:period=16";
  const Tuning t = tuning_with(choices, 2);
  EXPECT_LE(tuning_table(t).find('\n'), 100U) << tuning_table(t);
  for (std::size_t columns = 20; columns <= 160; ++columns) {
    std::istringstream in(tuning_table(t, columns));
    for (std::string line; std::getline(in, line);) EXPECT_LE(width_of(line), columns) << line;
  }
}

TEST(Tuning, AnExperimentWithTheRatesLeavesNoRunOut) {
  Experiment result;
  result.title = "a \"title\"";
  result.base.training.model = "mlp";
  result.base.training.data = "mnist";
  result.base.training.train.target = 0.8;
  result.seeds = {1, 2};
  result.base.training.train.shards = "classes:2";
  result.contenders = {Contender{"ssgd", "ssgd"}, Contender{"bold", "local:period=8"}};
  result.contenders[1].shards = "iid";
  const Tuning t = tuning_with({choice({0.1, 0.2, 0.4}, {{0.5, 0.5}, {0.8, 0.8}, {0.81, 0.7}}),
                                choice({1, 2}, {{-0.5, 0.5}, {-0.5, 0.1}})},
                               2);
  const std::string text = tuned_toml(result, "demo-8", t);
  for (const char* words : {"title = \"a \\\"title\\\"\"\n", "cluster = \"demo-8\"\n",
                            "data = \"mnist\"\nshards = \"classes:2\"\n", "shards = \"iid\"\nlr",
                            "target = 0.8\n", "seeds = [1, 2]\n", "strategy = \"ssgd\"\nlr = 0.2  # not sure",
                            "name = \"bold\"\n", "lr = 1  # no rate of the grid has a whole result"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

}  // namespace
}  // namespace tacit::cli
