// SPDX-License-Identifier: MIT
#include "tacit/core/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace tacit {
namespace {

using Use = Rng::Use;

std::vector<std::uint64_t> draws(Rng rng, int count = 8) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(rng.next());
  return out;
}

// Values of an independent implementation (SplitMix64 in Python). A change here changes every run.
TEST(Rng, TheFirstDrawsOfOneAddressAreThese) {
  Rng rng(42, 3, 7, Use::kShuffle);
  EXPECT_EQ(rng.next(), 0x7F80B5520F8E528FULL);
  EXPECT_EQ(rng.next(), 0xE7605D8249EE661FULL);
  EXPECT_EQ(rng.next(), 0xB84A612AC9181750ULL);
}

TEST(Rng, IsFixedAtCompileTimeAlready) {
  static_assert(Rng(42, 3, 7, Use::kShuffle).next() == 0x7F80B5520F8E528FULL);
  static_assert(Rng(42, 3, 7, Use::kShuffle).uniform() == 0x7F80B5p-24F);
  constexpr std::uint64_t kDie = Rng(42, 3, 7, Use::kShuffle).below(6);
  EXPECT_EQ(kDie, 0x7F80B5520F8E528FULL % 6);
}

TEST(Rng, TheSameAddressGivesTheSameDraws) {
  EXPECT_EQ(draws(Rng(9, 2, 1000, Use::kRounding)), draws(Rng(9, 2, 1000, Use::kRounding)));
}

TEST(Rng, AnyOtherCoordinateGivesOtherDraws) {
  const std::vector<Rng> others{Rng(1, 2, 3, Use::kShuffle), Rng(2, 2, 3, Use::kShuffle),
                                Rng(1, 3, 3, Use::kShuffle), Rng(1, 2, 4, Use::kShuffle),
                                Rng(1, 2, 3, Use::kInit),    Rng(1, Rng::kEveryRank, 3, Use::kShuffle),
                                Rng(3, 2, 1, Use::kShuffle), Rng(2, 1, 3, Use::kShuffle)};
  std::set<std::uint64_t> seen;
  for (const Rng& rng : others)
    for (const std::uint64_t draw : draws(rng)) EXPECT_TRUE(seen.insert(draw).second);
}

TEST(Rng, NoTwoAddressesOfASmallRunShareTheirFirstDraw) {
  std::set<std::uint64_t> seen;
  int addresses = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (int rank = Rng::kEveryRank; rank < 8; ++rank)
      for (std::int64_t step = 0; step < 50; ++step)
        for (const Use use : {Use::kInit, Use::kShuffle, Use::kData, Use::kMinibatch, Use::kRounding,
                              Use::kPeerChoice, Use::kStraggler}) {
          seen.insert(Rng(seed, rank, step, use).next());
          ++addresses;
        }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(addresses));
}

// The standard error of the mean is 0.0009, that of the variance 0.0002: five of them each.
TEST(Rng, UniformHasTheMomentsOfTheUnitInterval) {
  constexpr int kCount = 100'000;
  Rng rng(1, 0, 0, Use::kData);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const float u = rng.uniform();
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    sum += static_cast<double>(u);
    squares += static_cast<double>(u) * static_cast<double>(u);
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.5, 0.0046);
  EXPECT_NEAR(squares / kCount - mean * mean, 1.0 / 12, 0.0012);
}

TEST(Rng, UniformIsFairToEveryTenth) {
  constexpr int kCount = 100'000;
  Rng rng(2, 0, 0, Use::kData);
  std::array<int, 10> hits{};
  for (int i = 0; i < kCount; ++i) ++hits[static_cast<std::size_t>(rng.uniform() * 10.0F)];
  double chi_square = 0;
  for (const int n : hits) chi_square += std::pow(n - kCount / 10.0, 2) / (kCount / 10.0);
  EXPECT_LT(chi_square, 27.9);  // 9 degrees of freedom, one in a thousand
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
  for (const std::uint64_t n : {1ULL, 2ULL, 3ULL, 7ULL, 16ULL, 100ULL}) {
    Rng rng(3, 0, static_cast<std::int64_t>(n), Use::kShuffle);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t draw = rng.below(n);
      ASSERT_LT(draw, n);
      seen.insert(draw);
    }
    EXPECT_EQ(seen.size(), n);
  }
}

TEST(Rng, BelowIsFairToEveryValue) {
  constexpr int kCount = 70'000;
  Rng rng(4, 0, 0, Use::kShuffle);
  std::array<int, 7> hits{};
  for (int i = 0; i < kCount; ++i) ++hits[rng.below(7)];
  double chi_square = 0;
  for (const int n : hits) chi_square += std::pow(n - kCount / 7.0, 2) / (kCount / 7.0);
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom, one in a thousand
}

// A bare modulo by 3 * 2^62 would draw the first third twice as often as the others.
TEST(Rng, BelowHasNoModuloBiasForHugeBounds) {
  constexpr std::uint64_t kBound = 3ULL << 62U;
  constexpr int kCount = 30'000;
  Rng rng(5, 0, 0, Use::kShuffle);
  int first_third = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::uint64_t draw = rng.below(kBound);
    ASSERT_LT(draw, kBound);
    if (draw < kBound / 3) ++first_third;
  }
  EXPECT_NEAR(first_third, kCount / 3, 410);  // five standard deviations; a biased draw gives 15'000
}

TEST(Rng, NormalHasTheMomentsOfTheBell) {
  constexpr int kCount = 100'000;
  Rng rng(6, 0, 0, Use::kInit);
  std::array<double, 5> power{};  // sums of x^k
  int within_one = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = static_cast<double>(rng.normal());
    ASSERT_TRUE(std::isfinite(x));
    for (int k = 1; k < 5; ++k) power[static_cast<std::size_t>(k)] += std::pow(x, k);
    within_one += std::abs(x) < 1 ? 1 : 0;
  }
  EXPECT_NEAR(power[1] / kCount, 0, 0.016);  // each bound: five standard errors
  EXPECT_NEAR(power[2] / kCount, 1, 0.023);
  EXPECT_NEAR(power[3] / kCount, 0, 0.062);
  EXPECT_NEAR(power[4] / kCount, 3, 0.156);
  EXPECT_NEAR(static_cast<double>(within_one) / kCount, 0.6827, 0.0074);
}

TEST(Rng, ANormalDrawCostsTwoDrawsAndKeepsNoMemory) {
  Rng with(7, 1, 2, Use::kInit);
  Rng without(7, 1, 2, Use::kInit);
  with.normal();
  without.next();
  without.next();
  EXPECT_EQ(with.next(), without.next());
}

}  // namespace
}  // namespace tacit
