// SPDX-License-Identifier: MIT
#include "cli/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace tacit::cli {
namespace {

// As printed tables have it, for samples of 2 to 30.
constexpr std::array<double, 29> kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};

TEST(Statistics, QuantilesOfStudentsTAreThoseOfPrintedTables) {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    EXPECT_NEAR(student_quantile(0.975, static_cast<int>(i) + 1), kTable[i], 0.0005) << "n = " << i + 2;
}

TEST(Statistics, QuantilesOfStudentsTAreThoseOfItsClosedForms) {
  for (const double p : {0.6, 0.9, 0.975, 0.995}) {
    const double side = 2 * p - 1;
    EXPECT_NEAR(student_quantile(p, 1), std::tan(std::acos(-1) * (p - 0.5)), 1e-9 * student_quantile(p, 1));
    EXPECT_NEAR(student_quantile(p, 2), std::sqrt(2 * side * side / (1 - side * side)), 1e-9);
  }
  EXPECT_NEAR(student_quantile(0.975, 100'000), 1.959988, 1e-5) << "the normal distribution's, nearly";
}

TEST(Statistics, TheDeviationIsTheSamplesAndOneValueHasNone) {
  const Sample s = sample_of(std::vector<double>{1, 2, 3, 6});
  EXPECT_EQ(s.n, 4U);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(*s.deviation, std::sqrt(14.0 / 3));
  EXPECT_FALSE(sample_of(std::vector<double>{5}).deviation);
}

TEST(Statistics, AnIntervalOfPairsIsTheirMeanGiveOrTakeTByTheStandardError) {
  // Differences 1, 2, 3: mean 2, deviation 1, and t of two degrees of freedom.
  const std::vector<double> values{11, 22, 33};
  const std::vector<double> others{10, 20, 30};
  const PairedDifference d = paired_difference(values, others);
  EXPECT_DOUBLE_EQ(d.sample.mean, 2);
  EXPECT_NEAR(d.interval->low, 2 - 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(d.interval->high, 2 + 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_EQ(d.may_be_chance(), true);
  EXPECT_EQ(paired_difference(others, values).interval->low, -d.interval->high);
}

TEST(Statistics, OnePairSaysNothingOfChanceAndEqualPairsMayBeIt) {
  const std::vector<double> one{0.8};
  EXPECT_FALSE(paired_difference(one, one).interval);
  EXPECT_EQ(paired_difference(one, one).may_be_chance(), std::nullopt);
  const std::vector<double> two{0.8, 0.9};
  EXPECT_EQ(paired_difference(two, two).may_be_chance(), true);
  const std::vector<double> less{0.7, 0.8};
  EXPECT_EQ(paired_difference(two, less).may_be_chance(), false);
}

}  // namespace
}  // namespace tacit::cli
