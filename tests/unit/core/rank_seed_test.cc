// SPDX-License-Identifier: MIT
#include "core/rank_seed.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace tacit {
namespace {

std::uint32_t low(std::uint64_t n, int rank) { return static_cast<std::uint32_t>(rank_seed(n, rank)); }

TEST(RankSeed, LowHalvesDifferForAllRanksAndAllSmallNumbers) {
  std::unordered_set<std::uint32_t> seen;
  for (std::uint64_t n : {0, 1, 2, 3, 255, 256, 65535})
    for (int rank = 0; rank < 65536; ++rank)
      EXPECT_TRUE(seen.insert(low(n, rank)).second) << n << " " << rank;
  seen.clear();
  for (std::uint64_t n = 0; n < 65536; ++n)
    for (const int rank : {0, 1, 1000}) EXPECT_TRUE(seen.insert(low(n, rank)).second) << n << " " << rank;
}

TEST(RankSeed, LowHalvesDifferForTheRanksOfAnyNumber) {
  for (const std::uint64_t n : {1ULL << 16U, 0xFFFF'FFFFULL, 1ULL << 63U, ~0ULL}) {
    std::unordered_set<std::uint32_t> seen;
    for (int rank = 0; rank < 5000; ++rank) EXPECT_TRUE(seen.insert(low(n, rank)).second) << n << " " << rank;
  }
}

TEST(RankSeed, EveryPartOfALargeNumberCounts) {
  std::unordered_set<std::uint32_t> seen{low(1, 0)};
  for (unsigned bit = 1; bit < 64; ++bit) EXPECT_TRUE(seen.insert(low(1 + (1ULL << bit), 0)).second) << bit;
}

TEST(RankSeed, RepeatsInEveryRunOfEveryBuild) {
  static_assert(rank_seed(1, 0) != rank_seed(1, 1));
  EXPECT_EQ(rank_seed(1, 0), 9404570672014347072U);
}

}  // namespace
}  // namespace tacit
