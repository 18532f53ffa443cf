// SPDX-License-Identifier: MIT
// Batches come out the same however many threads make them, and whether they were expected or not.
#include "train/data/batch_maker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "support/eventually.h"
#include "support/refusal.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

using Indices = std::vector<std::uint32_t>;

constexpr ImageShape kShape{1, 1, 2};
constexpr std::uint32_t kBad = 13;

// A sample that tells what it was made of.
void fill(const Wanted& wanted, std::size_t slot, Batch& batch) {
  const std::uint32_t index = wanted.indices[slot];
  if (index == kBad) throw InvalidConfig("sample 13 is bad");
  batch.labels[slot] = index;
  batch.images[2 * slot] = static_cast<float>(index) + 1000 * static_cast<float>(wanted.epoch);
  batch.images[2 * slot + 1] = static_cast<float>(wanted.seed);
}

void expect_made(const Batch& batch, const Wanted& wanted) {
  ASSERT_EQ(batch.size(), wanted.indices.size());
  EXPECT_EQ(batch.shape, kShape);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch.labels[i], wanted.indices[i]);
    EXPECT_EQ(batch.images[2 * i],
              static_cast<float>(wanted.indices[i]) + 1000 * static_cast<float>(wanted.epoch));
    EXPECT_EQ(batch.images[2 * i + 1], static_cast<float>(wanted.seed));
  }
}

Indices some(std::uint32_t first, std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(BatchMaker, MakesWhatIsWantedWithAnyNumberOfThreads) {
  for (const int threads : {0, 1, 3, 8}) {
    BatchMaker maker(kShape, threads, fill);
    Batch batch;
    for (std::uint32_t step = 0; step < 20; ++step) {
      const Indices now = some(100 + step, 7);
      const Indices soon = some(101 + step, 7);
      maker.expect({soon, 2, 5});
      maker.gather({now, 2, 5}, batch);
      expect_made(batch, {now, 2, 5});
    }
  }
}

TEST(BatchMaker, TellsEpochsSeedsAndLengthsApart) {
  BatchMaker maker(kShape, 2, fill);
  const Indices few = some(100, 3);
  const Indices many = some(100, 4);
  maker.expect({few, 1, 1});
  Batch batch;
  for (const Wanted& wanted : {Wanted{few, 2, 1}, Wanted{few, 1, 2}, Wanted{many, 1, 1}, Wanted{few, 1, 1}}) {
    maker.gather(wanted, batch);
    expect_made(batch, wanted);
  }
}

TEST(BatchMaker, BeginsWithWhatIsExpected) {
  std::atomic<int> made{0};
  BatchMaker maker(kShape, 2, [&](const Wanted& wanted, std::size_t slot, Batch& batch) {
    fill(wanted, slot, batch);
    ++made;
  });
  const Indices soon = some(100, 5);
  maker.expect({soon});
  maker.expect({soon});  // once
  EXPECT_TRUE(test::eventually([&] { return made == 5; }));
  Batch batch;
  maker.gather({soon}, batch);
  expect_made(batch, {soon});
  EXPECT_EQ(made, 5);
}

TEST(BatchMaker, ServesManyAtOnceWhoWantTheSameAndOthers) {
  BatchMaker maker(kShape, 3, fill);
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < 6; ++rank)
    ranks.emplace_back([&, rank] {
      Batch batch;
      for (std::uint32_t step = 0; step < 50; ++step) {
        const Indices now = some(100 + step + rank % 2, 9);
        const Indices soon = some(101 + step + rank % 2, 9);
        maker.expect({soon});
        maker.gather({now}, batch);
        expect_made(batch, {now});
      }
    });
}

TEST(BatchMaker, RethrowsWhatASampleThrewAndGoesOn) {
  for (const int threads : {0, 3}) {
    BatchMaker maker(kShape, threads, fill);
    const Indices bad = some(10, 8);
    const Indices good = some(20, 8);
    Batch batch;
    maker.expect({bad});
    test::expect_refusal([&] { maker.gather({bad}, batch); }, {"sample 13 is bad"});
    maker.gather({good}, batch);
    expect_made(batch, {good});
  }
}

TEST(BatchMaker, EndsWithBatchesThatNobodyAskedFor) {
  BatchMaker maker(kShape, 2, fill);
  for (std::uint32_t i = 0; i < 100; ++i) maker.expect({some(100 + i, 50)});
  Batch batch;
  maker.gather({some(500, 3)}, batch);
  expect_made(batch, {some(500, 3)});
}

}  // namespace
}  // namespace tacit
