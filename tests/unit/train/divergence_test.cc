// SPDX-License-Identifier: MIT
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tacit::test {
namespace {

const Guess kTenClasses{0.1, std::log(10.0), 10'000};

std::string judged(const Course& course, const std::optional<Guess>& guess = kTenClasses) {
  return why_diverged(course, guess);
}

TEST(Divergence, ARunThatLearnedIsNone) { EXPECT_EQ(judged({200, 2.35, 0.5, 0.84}), ""); }

TEST(Divergence, IsALossThatRoseAndStayedUp) {
  const std::string why = judged({20, 2.35, 3.5, 0.3});
  EXPECT_NE(why.find("rose from 2.35"), std::string::npos) << why;
  EXPECT_NE(why.find("3.5"), std::string::npos) << why;
  EXPECT_NE(why.find("learning rate"), std::string::npos) << why;
  EXPECT_EQ(judged({20, 2.35, 2.5, 0.3}), "") << "batches differ by as much";
}

TEST(Divergence, IsAnAccuracyAtChanceWithALossThatIsNoBetter) {
  EXPECT_NE(judged({200, 2.4, 2.303, 0.1}), "") << "the loss fell, to what a guess has";
  EXPECT_NE(judged({200, 2.4, 2.31, 0.105}), "") << "as far from a tenth as guesses come";
  EXPECT_EQ(judged({200, 2.4, 2.303, 0.12}), "");
  EXPECT_EQ(judged({200, 2.4, 2.1, 0.1}), "") << "it has begun to learn";
}

TEST(Divergence, OfFewStepsIsJudgedByTheLossAlone) {
  EXPECT_EQ(judged({49, 2.4, 2.31, 0.1}), "");
  EXPECT_NE(judged({50, 2.4, 2.31, 0.1}), "");
  EXPECT_NE(judged({10, 2.4, 24, 0.1}), "");
}

TEST(Divergence, IsNoRunThatBeganWithALowLossAndLiesALittleAboveIt) {
  EXPECT_EQ(judged({200, 0.05, 0.2, 0.95}), "");
  EXPECT_NE(judged({200, 0.05, 2.5, 0.2}), "") << "unless it knows less than a guess now";
}

TEST(Divergence, OfAFrequentClassNeedsMoreThanItsShare) {
  const Guess frequent{0.9, 0.325, 1000};
  EXPECT_EQ(judged({200, 0.7, 0.25, 0.9}, frequent), "") << "it answers one thing still, and learns";
  EXPECT_NE(judged({200, 0.7, 0.33, 0.9}, frequent), "");
  EXPECT_NE(judged({200, 0.7, 0.6, 0.5}, frequent), "") << "worse than always the same answer";
}

TEST(Divergence, WithoutClassesIsALossThatRose) {
  EXPECT_EQ(judged({200, 400.0, 12.0, 0.0}, std::nullopt), "");
  EXPECT_NE(judged({200, 400.0, 500.0, 0.0}, std::nullopt), "");
}

TEST(Divergence, IsNotSaidOfRunsWithoutLosses) {
  EXPECT_EQ(judged({200, std::nullopt, std::nullopt, std::nullopt}), "");
  EXPECT_EQ(judged({200, 2.3, std::nullopt, 0.1}), "");
}

TEST(Divergence, AGuessKnowsHowFrequentEachClassIs) {
  ImageBytes train;
  ImageBytes test;
  train.classes = test.classes = 4;
  train.labels = {0, 1, 0, 1};
  test.labels = {0, 0, 0, 1, 2};
  const DataPair data{in_memory(train), in_memory(test)};
  const Guess guess = guess_of(data);
  EXPECT_DOUBLE_EQ(guess.accuracy, 0.6);
  EXPECT_DOUBLE_EQ(guess.loss, std::log(2.0));
  EXPECT_EQ(guess.samples, 5U);
}

TEST(Divergence, TheCourseOfARunIsTheMeanOfItsRanks) {
  std::vector<RankReport> reports(2);
  reports[0].steps = 12;
  reports[1].steps = 10;
  reports[0].first_loss = 2;
  reports[1].first_loss = 3;
  reports[0].late_loss = 0.5;
  reports[0].evaluation = Evaluated{12, 1, 0.5, 0.75, 1};
  EXPECT_FALSE(course_of(reports).late_loss) << "one rank has none";
  reports[1].late_loss = 1.5;
  const Course course = course_of(reports);
  EXPECT_EQ(course.steps, 10);
  EXPECT_DOUBLE_EQ(*course.first_loss, 2.5);
  EXPECT_DOUBLE_EQ(*course.late_loss, 1);
  EXPECT_DOUBLE_EQ(*course.accuracy, 0.75);
}

}  // namespace
}  // namespace tacit::test
