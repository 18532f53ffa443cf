// SPDX-License-Identifier: MIT
// The patterns, played through on sets of contributions instead of numbers: a chunk is the set of the ranks
// that it has been summed over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/butterfly.h"
#include "topology/chunks.h"
#include "topology/graph.h"
#include "topology/groups.h"
#include "topology/keeper.h"
#include "topology/ring.h"

namespace tacit {
namespace {

using Chunk = std::multiset<int>;        // a rank that is counted twice shows
using Vector = std::vector<Chunk>;       // by chunk
using AllVectors = std::vector<Vector>;  // by rank

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Every chunk of rank r holds r's own contribution.
AllVectors start(int ranks, int parts) {
  AllVectors all;
  for (int r = 0; r < ranks; ++r) all.emplace_back(at(parts), Chunk{r});
  return all;
}

Chunk everybody(int n) {
  Chunk all;
  for (int r = 0; r < n; ++r) all.insert(r);
  return all;
}

TEST(Chunks, CoverTheVectorExactlyOnceAndInOrder) {
  for (std::size_t count = 0; count < 300; ++count)
    for (int parts = 1; parts <= 20; ++parts) {
      std::size_t end = 0;
      for (int i = 0; i < parts; ++i) {
        const Slice slice = chunk(count, parts, i);
        ASSERT_EQ(slice.offset, end) << count << " floats, chunk " << i << " of " << parts;
        end += slice.count;
      }
      ASSERT_EQ(end, count) << count << " floats in " << parts;
    }
}

TEST(Chunks, StartOnCacheLinesUnlessTheyAreEmpty) {
  for (std::size_t count = 0; count < 1000; count += 7)
    for (int parts = 1; parts <= 33; ++parts)
      for (int i = 0; i < parts; ++i) {
        const Slice slice = chunk(count, parts, i);
        if (slice.count > 0) {
          ASSERT_EQ(slice.offset % kChunkUnit, 0U) << count << ", " << i << " of " << parts;
        }
      }
}

TEST(Chunks, DifferByNoMoreThanOneUnit) {
  for (const std::size_t count : {0, 1, 160, 1000, 12345, 1'000'000})
    for (int parts = 1; parts <= 20; ++parts) {
      std::size_t most = 0;
      std::size_t least = count;
      for (int i = 0; i < parts; ++i) {
        most = std::max(most, chunk(count, parts, i).count);
        least = std::min(least, chunk(count, parts, i).count);
      }
      ASSERT_LT(most - least, 2 * kChunkUnit) << count << " in " << parts;
    }
}

TEST(Chunks, ARangeIsTheUnionOfItsChunks) {
  for (const std::size_t count : {5, 100, 1003})
    for (int first = 0; first <= 8; ++first)
      for (int last = first; last <= 8; ++last) {
        std::size_t total = 0;
        for (int i = first; i < last; ++i) total += chunk(count, 8, i).count;
        const Slice range = chunks(count, 8, first, last);
        EXPECT_EQ(range.count, total);
        if (first < 8) {
          EXPECT_EQ(range.offset, chunk(count, 8, first).offset);
        }
      }
}

TEST(Chunks, OfAVeryLongVectorDoNotOverflow) {
  constexpr std::size_t kCount = 100'000'000'000;
  const Slice last = chunk(kCount, 1000, 999);
  EXPECT_EQ(last.offset + last.count, kCount);
  EXPECT_EQ(last.count, kCount / 1000);
}

class Ring : public ::testing::TestWithParam<int> {
 protected:
  // Plays one step on all ranks at once: take(own chunk, arriving chunk).
  template <class Pattern, class Take>
  void play(AllVectors& all, int s, const Pattern& pattern, const Take& take) {
    const int n = GetParam();
    const AllVectors before = all;
    for (int r = 0; r < n; ++r) {
      const int from = ring::prev(r, n);
      const ring::Step mine = pattern(r, n, s);
      const ring::Step theirs = pattern(from, n, s);
      ASSERT_EQ(theirs.send_chunk, mine.recv_chunk) << "rank " << r << ", step " << s;
      ASSERT_NE(mine.send_chunk, mine.recv_chunk) << "rank " << r << ", step " << s;
      take(all[at(r)][at(mine.recv_chunk)], before[at(from)][at(theirs.send_chunk)]);
    }
  }

  AllVectors reduce_scattered() {
    const int n = GetParam();
    AllVectors all = start(n, n);
    for (int s = 0; s + 1 < n; ++s)
      play(all, s, ring::reduce_scatter,
           [](Chunk& own, const Chunk& came) { own.insert(came.begin(), came.end()); });
    return all;
  }
};

TEST_P(Ring, NextAndPreviousAreInverse) {
  const int n = GetParam();
  std::set<int> reached;
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(ring::prev(ring::next(r, n), n), r);
    EXPECT_EQ(ring::next(ring::prev(r, n), n), r);
    reached.insert(ring::next(r, n));
  }
  EXPECT_EQ(reached.size(), at(n));
}

TEST_P(Ring, AfterReduceScatterEveryRankOwnsTheFullSumOfItsChunk) {
  const AllVectors all = reduce_scattered();
  for (int r = 0; r < GetParam(); ++r) EXPECT_EQ(all[at(r)][at(r)], everybody(GetParam())) << "rank " << r;
}

TEST_P(Ring, AfterAllGatherEveryRankHasEveryFullSum) {
  const int n = GetParam();
  AllVectors all = reduce_scattered();
  for (int s = 0; s + 1 < n; ++s)
    play(all, s, ring::all_gather, [](Chunk& own, const Chunk& came) { own = came; });
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) EXPECT_EQ(all[at(r)][at(c)], everybody(n)) << "rank " << r << ", chunk " << c;
}

INSTANTIATE_TEST_SUITE_P(UpToNine, Ring, ::testing::Range(1, 10),
                         [](const auto& ranks) { return std::to_string(ranks.param) + "Ranks"; });

class Butterfly : public ::testing::TestWithParam<int> {};

TEST_P(Butterfly, TheCoreIsTheLargestPowerOfTwo) {
  const int n = GetParam();
  const int core = butterfly::core_size(n);
  EXPECT_EQ(core & (core - 1), 0);
  EXPECT_LE(core, n);
  EXPECT_GT(2 * core, n);
  EXPECT_EQ(1 << butterfly::rounds(n), core);
}

TEST_P(Butterfly, EveryExtraHasAStandInOfItsOwnThatKnowsIt) {
  const int n = GetParam();
  const int core = butterfly::core_size(n);
  std::set<int> stand_ins;
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(butterfly::is_extra(r, n), r >= core);
    if (!butterfly::is_extra(r, n)) continue;
    const int in = butterfly::stand_in(r, n);
    EXPECT_GE(in, 0);
    EXPECT_LT(in, core);
    EXPECT_EQ(butterfly::charge(in, n), r);
    EXPECT_TRUE(stand_ins.insert(in).second);
  }
  for (int r = 0; r < core; ++r) {
    const int charge = butterfly::charge(r, n);
    EXPECT_EQ(charge >= 0, stand_ins.contains(r)) << "rank " << r;
    if (charge >= 0) {
      EXPECT_EQ(butterfly::stand_in(charge, n), r);
    }
  }
}

TEST_P(Butterfly, PartnersAreMutualDistinctAndInTheCore) {
  const int n = GetParam();
  const int core = butterfly::core_size(n);
  for (int r = 0; r < core; ++r)
    for (int k = 0; k < butterfly::rounds(n); ++k) {
      for (const int other : {butterfly::partner(r, k), butterfly::halving_partner(r, n, k)}) {
        EXPECT_NE(other, r);
        EXPECT_GE(other, 0);
        EXPECT_LT(other, core);
      }
      EXPECT_EQ(butterfly::partner(butterfly::partner(r, k), k), r);
      EXPECT_EQ(butterfly::halving_partner(butterfly::halving_partner(r, n, k), n, k), r);
    }
}

TEST_P(Butterfly, DoublingGivesEveryCoreRankEverybodysContribution) {
  const int n = GetParam();
  const int core = butterfly::core_size(n);
  AllVectors all = start(n, 1);
  for (int r = core; r < n; ++r) all[at(butterfly::stand_in(r, n))][0].insert(r);
  for (int k = 0; k < butterfly::rounds(n); ++k) {
    const AllVectors before = all;
    for (int r = 0; r < core; ++r) {
      const Chunk& came = before[at(butterfly::partner(r, k))][0];
      all[at(r)][0].insert(came.begin(), came.end());
    }
  }
  for (int r = 0; r < core; ++r) EXPECT_EQ(all[at(r)][0], everybody(n)) << "rank " << r;
}

TEST_P(Butterfly, HalvingPartnersShareARangeAndKeepOppositeHalves) {
  const int n = GetParam();
  for (int r = 0; r < butterfly::core_size(n); ++r) {
    EXPECT_EQ(butterfly::held(r, n, 0).first, 0);
    EXPECT_EQ(butterfly::held(r, n, 0).last, butterfly::core_size(n));
    for (int k = 0; k < butterfly::rounds(n); ++k) {
      const int other = butterfly::halving_partner(r, n, k);
      const butterfly::Range held = butterfly::held(r, n, k);
      EXPECT_EQ(butterfly::held(other, n, k).first, held.first);
      EXPECT_EQ(butterfly::held(other, n, k).last, held.last);
      const butterfly::Range kept = butterfly::held(r, n, k + 1);
      const butterfly::Range given = butterfly::held(other, n, k + 1);
      const bool lower = r < other;
      EXPECT_EQ((lower ? kept : given).first, held.first);
      EXPECT_EQ((lower ? kept : given).last, held.middle());
      EXPECT_EQ((lower ? given : kept).first, held.middle());
      EXPECT_EQ((lower ? given : kept).last, held.last);
    }
  }
}

TEST_P(Butterfly, HalvingLeavesEveryCoreRankTheFullSumOfItsChunk) {
  const int n = GetParam();
  const int core = butterfly::core_size(n);
  AllVectors all = start(core, core);
  for (int k = 0; k < butterfly::rounds(n); ++k) {
    const AllVectors before = all;
    for (int r = 0; r < core; ++r) {
      const butterfly::Range kept = butterfly::held(r, n, k + 1);
      for (int c = kept.first; c < kept.last; ++c) {
        const Chunk& came = before[at(butterfly::halving_partner(r, n, k))][at(c)];
        all[at(r)][at(c)].insert(came.begin(), came.end());
      }
    }
  }
  for (int r = 0; r < core; ++r) {
    const butterfly::Range left = butterfly::held(r, n, butterfly::rounds(n));
    EXPECT_EQ(left.first, r);
    EXPECT_EQ(left.last, r + 1);
    EXPECT_EQ(all[at(r)][at(r)], everybody(core)) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(UpToForty, Butterfly, ::testing::Range(1, 41),
                         [](const auto& ranks) { return std::to_string(ranks.param) + "Ranks"; });

TEST(Groups, ArePartitionsOfAboutTheirSize) {
  for (int n = 1; n <= 20; ++n)
    for (int s = 1; s <= n; ++s)
      for (std::int64_t t = 0; t < 6; ++t)
        for (int place = 0; place < n; ++place) {
          const std::vector<int> group = groups::group_of(place, n, s, t);
          const auto size = static_cast<int>(group.size());
          ASSERT_TRUE(size >= s && (size < 2 * s || s == n)) << n << " " << s << " " << t;
          ASSERT_TRUE(std::is_sorted(group.begin(), group.end()));
          ASSERT_TRUE(std::count(group.begin(), group.end(), place) == 1);
          for (const int other : group) ASSERT_EQ(groups::group_of(other, n, s, t), group);
        }
}

// Largest minus smallest of 0, 1, ..., n-1 after averages in the groups of so many steps.
double spread_after(int n, int s, std::int64_t steps) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 0.0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<double> before = x;
    for (int place = 0; place < n; ++place) {
      const std::vector<int> group = groups::group_of(place, n, s, t);
      double sum = 0;
      for (const int other : group) sum += before[static_cast<std::size_t>(other)];
      x[static_cast<std::size_t>(place)] = sum / static_cast<double>(group.size());
    }
  }
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  return *most - *least;
}

TEST(Groups, ReachTheMeanInLogarithmicallyManyStepsForPowersOfTheirSize) {
  for (const auto& [n, s] : {std::pair{4, 2}, {16, 2}, {16, 4}, {9, 3}, {27, 3}, {64, 8}, {25, 5}})
    EXPECT_LT(spread_after(n, s, groups::phases(n, s)), 1e-9) << n << " in groups of " << s;
}

TEST(Groups, OfTwoAreTheButterfly) {
  for (std::int64_t t = 0; t < 7; ++t)
    for (int place = 0; place < 8; ++place) {
      const int partner = place ^ (1 << (t % 3));
      EXPECT_EQ(groups::group_of(place, 8, 2, t),
                (std::vector<int>{std::min(place, partner), std::max(place, partner)}));
    }
}

TEST(Groups, ComeTogetherForEveryNumberAndSize) {
  for (int n = 2; n <= 24; ++n)
    for (int s = 2; s <= n; ++s)
      EXPECT_LT(spread_after(n, s, 8 * groups::phases(n, s)), 1e-3 * n) << n << " in groups of " << s;
}

TEST(Graph, NobodyIsHisOwnNeighbourAndTheSmallOnesAreComplete) {
  for (const GraphName& graph : kGraphNames)
    for (int n = 1; n <= 12; ++n)
      for (int place = 0; place < n; ++place) {
        const std::vector<int> near = neighbours(graph.which, place, n);
        EXPECT_EQ(near.empty(), n == 1) << graph.name;
        const std::set<int> distinct(near.begin(), near.end());
        EXPECT_EQ(distinct.size(), near.size());
        EXPECT_EQ(distinct.count(place), 0U);
        for (const int other : near) EXPECT_TRUE(other >= 0 && other < n);
        if (n <= 3) {
          EXPECT_EQ(near.size(), static_cast<std::size_t>(n - 1)) << graph.name << n;
        }
      }
  EXPECT_EQ(neighbours(Graph::kRing, 0, 6), (std::vector<int>{1, 5}));
  EXPECT_EQ(neighbours(Graph::kExponential, 6, 8), (std::vector<int>{7, 0, 2}));
}

TEST(Keeper, IsTheNextOfThoseThatLiveAndCameFirst) {
  const std::vector<std::uint32_t> entries{0, 0, 2, 0, 1, 3};
  const auto of = [&](int first_place, const std::vector<int>& living) {
    return keeper(first_place, living, [&](int rank) { return entries[at(rank)]; });
  };
  EXPECT_EQ(of(1, {0, 1, 2, 3, 4, 5}), 1);
  EXPECT_EQ(of(1, {0, 2, 3, 4, 5}), 3) << "2 came later";
  EXPECT_EQ(of(4, {0, 1, 2, 3, 4, 5}), 0) << "4 came back and keeps nothing that another has";
  EXPECT_EQ(of(2, {2, 4, 5}), 4);
  EXPECT_EQ(of(3, {2, 5}), 2);
  EXPECT_EQ(of(0, {5}), 5);
}

// Ranks are lost and come back in any order.
TEST(Keeper, ChangesOnlyWhenItIsLost) {
  constexpr int kRanks = 6;
  std::vector<std::uint32_t> entries(kRanks);
  std::vector<int> living(kRanks);
  std::iota(living.begin(), living.end(), 0);
  std::uint32_t newest = 0;
  const auto all = [&] {
    std::vector<int> keepers;
    for (int place = 0; place < kRanks; ++place)
      keepers.push_back(keeper(place, living, [&](int rank) { return entries[at(rank)]; }));
    return keepers;
  };
  for (unsigned draw = 1; draw < 2000; ++draw) {
    const int rank = static_cast<int>(draw * 2654435761U >> 16) % kRanks;
    const std::vector<int> before = all();
    const auto found = std::lower_bound(living.begin(), living.end(), rank);
    const bool lost = found != living.end() && *found == rank;
    if (lost && living.size() == 1) continue;
    if (!lost) entries[at(rank)] = ++newest;
    lost ? living.erase(found) : living.insert(found, rank);
    const std::vector<int> after = all();
    for (int place = 0; place < kRanks; ++place)
      EXPECT_EQ(before[at(place)] != after[at(place)], lost && before[at(place)] == rank);
  }
}

}  // namespace
}  // namespace tacit
