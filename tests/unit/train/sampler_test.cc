// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/train/dataset.h"

namespace tacit {
namespace {

using test::expect_parts;
using test::refusal;

using Indices = std::vector<std::uint32_t>;

Indices global_batch(Sampler& sampler, int ranks, std::int64_t epoch, std::int64_t step) {
  Indices all;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto mine = sampler.indices(epoch, step, rank);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

Indices whole_epoch(Sampler& sampler, int ranks, std::int64_t epoch) {
  Indices all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Indices batch = global_batch(sampler, ranks, epoch, step);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(Sampler, ShowsEverySampleAtMostOnceInAnEpoch) {
  Sampler sampler(103, 5, 4, 1);
  EXPECT_EQ(sampler.steps_per_epoch(), 5);
  const Indices seen = whole_epoch(sampler, 4, 0);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 103U);
}

TEST(Sampler, ShowsEverySampleWhereTheBatchesFitExactly) {
  Sampler sampler(100, 5, 4, 1);
  Indices seen = whole_epoch(sampler, 4, 2);
  std::sort(seen.begin(), seen.end());
  Indices all(100);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(seen, all);
}

TEST(Sampler, GivesTheSameGlobalBatchForAnyNumberOfRanks) {
  Sampler one(100, 16, 1, 7);
  Sampler two(100, 8, 2, 7);
  Sampler four(100, 4, 4, 7);
  for (std::int64_t step = 0; step < one.steps_per_epoch(); ++step) {
    const Indices alone = global_batch(one, 1, 3, step);
    EXPECT_EQ(alone, global_batch(two, 2, 3, step));
    EXPECT_EQ(alone, global_batch(four, 4, 3, step));
  }
}

TEST(Sampler, HasAnotherOrderInAnotherEpochOrWithAnotherSeed) {
  Sampler sampler(100, 10, 2, 7);
  Sampler other(100, 10, 2, 8);
  const Indices first = whole_epoch(sampler, 2, 0);
  EXPECT_NE(first, whole_epoch(sampler, 2, 1));
  EXPECT_NE(first, whole_epoch(other, 2, 0));
}

TEST(Sampler, RepeatsItselfForTheSameSeedWhateverWasAskedBefore) {
  Sampler resumed(100, 10, 2, 7);
  Sampler steady(100, 10, 2, 7);
  whole_epoch(steady, 2, 0);
  whole_epoch(steady, 2, 1);
  const Indices third = whole_epoch(steady, 2, 2);
  EXPECT_EQ(third, whole_epoch(resumed, 2, 2));
  whole_epoch(steady, 2, 0);
  EXPECT_EQ(third, whole_epoch(steady, 2, 2));
}

TEST(Sampler, WantsTheSamplesOfAStepOfTheRunWithItsEpochAndSeed) {
  Sampler sampler(100, 10, 2, 7);
  Sampler plain(100, 10, 2, 7);
  const Wanted second = sampler.wanted(5 + 3, 1);
  EXPECT_EQ(second.epoch, 1);
  EXPECT_EQ(second.seed, 7U);
  const auto same = plain.indices(1, 3, 1);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), second.indices.begin(), second.indices.end()));
  const Wanted piece = sampler.wanted_piece(5 + 3, 3, 4);
  EXPECT_EQ(piece.epoch, 1);
  const auto quarter = plain.piece(1, 3, 3, 4);
  EXPECT_TRUE(std::equal(quarter.begin(), quarter.end(), piece.indices.begin(), piece.indices.end()));
}

TEST(Sampler, SaysWhichBatchWouldFit) {
  expect_parts(refusal([] { Sampler(100, 64, 8, 1); }),
               {"batch of 64", "8 ranks", "100 samples", "batch of 12 per worker or less"});
  EXPECT_NO_THROW(Sampler(100, 12, 8, 1));
}

TEST(Sampler, RefusesMoreRanksThanSamplesAndEmptyBatches) {
  expect_parts(refusal([] { Sampler(3, 1, 4, 1); }), {"4 ranks", "3 samples", "more samples"});
  expect_parts(refusal([] { Sampler(3, 0, 1, 1); }), {"batch of 0"});
  EXPECT_THROW(Sampler(100, SIZE_MAX / 2, 4, 1), InvalidConfig);
}

TEST(Sampler, RefusesStepsAndRanksThatAreNotThere) {
  Sampler sampler(10, 2, 2, 1);
  EXPECT_THROW(sampler.indices(0, 2, 0), Bug);
  EXPECT_THROW(sampler.indices(0, 0, 2), Bug);
  EXPECT_THROW(sampler.indices(-1, 0, 0), Bug);
}

}  // namespace
}  // namespace tacit
