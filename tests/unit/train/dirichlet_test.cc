// SPDX-License-Identifier: MIT
#include "train/data/dirichlet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tacit {
namespace {

Rng some_rng(std::int64_t step, std::uint64_t seed = 1) {
  return {seed, Rng::kEveryRank, step, Rng::Use::kShuffle};
}

TEST(Dirichlet, LogarithmsAndExponentialsAreThose) {
  for (const double x : {1e-300, 1e-9, 0.3, 0.5, 0.7, 0.71, 0.999999, 1.0000001, 1.4, 1.5, 2.0, 1e5, 1e300})
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  EXPECT_EQ(portable_log(1), 0);
  for (const double x : {-1e-9, -0.3, -0.34, -0.35, -0.7, -5.0, -100.0, -699.0})
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-12) << x;
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-1e300), 0);
}

// What another program computed by the same formulas, to the last bit.
TEST(Dirichlet, DrawsAreTheseBitsOnEveryMachine) {
  const auto draws = [](double shape) {
    Rng rng = some_rng(0);
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) all.push_back(draw_log_gamma(rng, shape));
    return all;
  };
  using Draws = std::vector<double>;
  EXPECT_EQ(draws(0.1), (Draws{-4.4204739478823676, -6.0279016569715314, -21.80807196176168}));
  EXPECT_EQ(draws(1.0), (Draws{-0.091513257807325443, -2.661168403643237, -0.19473269313817376}));
  EXPECT_EQ(draws(2.5), (Draws{0.95137954196550689, -0.26773100085024126, 0.89190635104132676}));
  EXPECT_EQ(draws(0.001), (Draws{-520.35938155850999, -444.0097476082355, -2209.4916859372015}));
  EXPECT_EQ(draws(1e6), (Draws{13.815780446618126, 13.814215314683201, 13.815688468865117}));
}

TEST(Dirichlet, CountsAreTheseOnEveryMachine) {
  Rng rng = some_rng(-3);
  using Counts = std::vector<std::size_t>;
  EXPECT_EQ(draw_counts(rng, 0.1, 4, 1000), (Counts{880, 0, 0, 120}));
  EXPECT_EQ(draw_counts(rng, 0.1, 4, 1000), (Counts{0, 0, 950, 50}));
  EXPECT_EQ(draw_counts(rng, 1, 4, 1000), (Counts{272, 199, 135, 394}));
  EXPECT_EQ(draw_counts(rng, 100, 4, 1000), (Counts{261, 256, 262, 221}));
  EXPECT_EQ(draw_counts(rng, 1e-6, 4, 1000), (Counts{0, 1000, 0, 0}));
}

// Of a gamma distribution mean and variance are its shape; each estimate may be off by five of its standard errors.
TEST(Dirichlet, AGammaDrawHasTheMeanAndTheVarianceOfItsShape) {
  constexpr int kDraws = 40'000;
  for (const double shape : {0.1, 0.5, 1.0, 3.0, 20.0}) {
    Rng rng = some_rng(7, 3);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = portable_exp(std::min(0.0, draw_log_gamma(rng, shape) - 10)) * std::exp(10.0);
      sum += x;
      squares += (x - shape) * (x - shape);
    }
    EXPECT_NEAR(sum / kDraws, shape, 5 * std::sqrt(shape / kDraws)) << shape;
    const double fourth = 3 * shape * shape + 6 * shape;  // central moment
    EXPECT_NEAR(squares / kDraws, shape, 5 * std::sqrt((fourth - shape * shape) / kDraws)) << shape;
  }
}

TEST(Dirichlet, CountsAddUpWhateverIsCut) {
  Rng rng = some_rng(1);
  for (const double alpha : {1e-6, 0.01, 1.0, 1e6})
    for (const int parts : {1, 2, 7, 1000})
      for (const std::size_t total : {0U, 1U, 5U, 6000U}) {
        const auto counts = draw_counts(rng, alpha, parts, total);
        ASSERT_EQ(counts.size(), static_cast<std::size_t>(parts));
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), total);
      }
}

}  // namespace
}  // namespace tacit
