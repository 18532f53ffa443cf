// SPDX-License-Identifier: MIT
// Faults by seed, and what must hold after them.
#include "sim/fault_draw.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/verdict.h"
#include "support/refusal.h"
#include "support/simulate.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

std::string drawn(std::uint64_t seed, int workers = 4, double rate = 2) {
  Cluster cluster = flat(workers);
  draw_faults({seed, rate, Seconds(60)}, Seconds(5), cluster);
  check(cluster, "drawn");
  return describe_faults(cluster);
}

TEST(FaultDraw, IsAFunctionOfTheSeed) {
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_EQ(drawn(1, 4, 0), "none");
}

TEST(FaultDraw, MakesEveryKindAndOnlyWhatACheckedClusterMayHave) {
  std::string all;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) all += drawn(seed, 1 + static_cast<int>(seed % 8)) + "\n";
  for (const char* word : {"crashes at", "is stopped from", "cut off from", "in that direction", "late by",
                           "lost once or more", " on"})
    EXPECT_NE(all.find(word), std::string::npos) << word;
}

TEST(FaultDraw, LeavesARankThatDoesNotCrash) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster = flat(3);
    draw_faults({seed, 60, Seconds(60)}, Seconds(5), cluster);
    std::set<int> crashed;
    for (const Crash& crash : cluster.crashes) crashed.insert(crash.rank);
    EXPECT_LE(crashed.size(), 2U) << seed;
  }
}

TEST(FaultDraw, HasAsManyAsTheRateSays) {
  Cluster cluster = flat(10);
  draw_faults({1, 3, Seconds(600)}, Seconds(5), cluster);
  const auto count = cluster.cuts.size() + cluster.stops.size() + cluster.late.size();
  EXPECT_GT(count, 180U);  // of 300, some of which are crashes of ranks that may not crash
  EXPECT_LT(count, 300U);
}

TEST(FaultDraw, IsReadFromTheCommandLine) {
  const FaultDraw draw = FaultDraw::parse("seed=7,rate=0.5,for=5min");
  EXPECT_EQ(draw.seed, 7U);
  EXPECT_EQ(draw.rate, 0.5);
  EXPECT_EQ(draw.span, Seconds(300));
  for (const auto& [text, word] :
       std::vector<std::pair<std::string, std::string>>{{"seed=x", "seed"},
                                                        {"rate=-1", "rate"},
                                                        {"for=7", "unit"},
                                                        {"for=0s", "more than 0 s"},
                                                        {"sede=1", "seed"}}) {
    const std::string what = refusal([&, spec = text] { (void)FaultDraw::parse(spec); });
    EXPECT_NE(what.find(word), std::string::npos) << what;
    EXPECT_NE(what.find("faults"), std::string::npos) << what;
  }
}

// --- the laws

std::exception_ptr lost(int rank, int peer) {
  return std::make_exception_ptr(PeerLost(rank, peer, "silence"));
}

void expect_found(const std::vector<std::string>& found, const std::string& words) {
  ASSERT_EQ(found.size(), 1U) << words;
  EXPECT_NE(found[0].find(words), std::string::npos) << found[0];
}

TEST(Violations, AreNamesOfRanksThatNothingHappenedTo) {
  Cluster cluster = flat(3);
  cluster.crashes.push_back({2, Seconds(1)});
  const std::vector<RankEnd> right{{false, lost(0, 2)}, {false, lost(1, 2)}, {true, nullptr}};
  EXPECT_TRUE(violations(cluster, {Seconds(5), false}, right).empty());
  const std::vector<RankEnd> wrong{{false, lost(0, 1)}, {false, lost(1, 2)}, {true, nullptr}};
  expect_found(violations(cluster, {Seconds(5), false}, wrong), "rank 0 names rank 1");
}

TEST(Violations, AreStopsThatWereTooShortToBeMissed) {
  Cluster cluster = flat(3);
  const std::vector<RankEnd> ends{{false, nullptr, {2}}, {false, nullptr, {2}}, {false, lost(2, 2)}};
  cluster.stops = {{2, Seconds(1), Seconds(3)}};
  const std::vector<std::string> found = violations(cluster, {Seconds(5), true}, ends);
  EXPECT_EQ(found.size(), 4U) << ::testing::PrintToString(found);
  cluster.stops = {{2, Seconds(1), Seconds(7)}};
  EXPECT_TRUE(violations(cluster, {Seconds(5), true}, ends).empty());
  cluster.stops = {{2, Seconds(1), Seconds(3)}, {2, Seconds(3), Seconds(6)}};
  EXPECT_TRUE(violations(cluster, {Seconds(5), true}, ends).empty()) << "two that follow each other are one";
}

TEST(Violations, AreInnocentRanksThatDoNotFinishUnlessTheyAreTheFewer) {
  Cluster cluster = flat(4);
  cluster.cuts.push_back({{3}, {2}, true, Seconds(1)});
  std::vector<RankEnd> ends{
      {false, nullptr, {3}}, {false, lost(1, 3)}, {false, nullptr, {3}}, {false, lost(3, 3)}};
  expect_found(violations(cluster, {Seconds(5), true}, ends),
               "rank 1, which nothing happened to, did not finish");
  cluster.cuts.push_back({{0}, {2}, true, Seconds(1)});
  EXPECT_TRUE(violations(cluster, {Seconds(5), true}, ends).empty()) << "one of four had no fault";
}

TEST(Violations, AreErrorsOtherThanALoss) {
  const std::vector<RankEnd> ends{{false, std::make_exception_ptr(Timeout("too long"))}, {false, nullptr}};
  expect_found(violations(flat(2), {}, ends), "too long");
}

TEST(Violations, AreFinishesWithDifferentWeights) {
  using Hashes = std::vector<std::optional<std::uint64_t>>;
  EXPECT_TRUE(unequal_weights(Hashes{7, std::nullopt, 7}).empty());
  expect_found(unequal_weights(Hashes{std::nullopt, 7, 8}),
               "rank 1 and rank 2 finished with different weights");
}

}  // namespace
}  // namespace tacit::test
