// SPDX-License-Identifier: MIT
#include "train/readiness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/strategies/builtin.h"

namespace tacit::test {
namespace {

std::vector<Slice> tensors_of(const std::vector<std::size_t>& counts) {
  std::vector<Slice> all;
  for (std::size_t at = 0; const std::size_t count : counts) {
    all.push_back({at, count});
    at += count;
  }
  return all;
}

const std::vector<std::vector<std::size_t>> kModels{
    {1},           {64}, {1000}, {3, 5, 7}, {576, 9, 27, 3}, {40, 40, 40, 40, 40}, {10, 1000, 10, 300, 1},
    {90, 1, 90, 1}};

TEST(Buckets, TileTheVectorFromItsEndDown) {
  for (const auto& model : kModels)
    for (const std::size_t floats : {1U, 16U, 33U, 80U, 1000U, 100'000U}) {
      const auto tensors = tensors_of(model);
      std::size_t end = tensors.back().offset + tensors.back().count;
      const Buckets buckets(tensors, floats);
      for (const Slice& each : buckets.all()) {
        EXPECT_GT(each.count, 0U);
        EXPECT_EQ(each.offset + each.count, end);
        end = each.offset;
      }
      EXPECT_EQ(end, 0U);
    }
}

TEST(Buckets, HaveWholeTensorsUnlessOneIsLargerThanABucket) {
  for (const auto& model : kModels)
    for (const std::size_t floats : {16U, 33U, 80U, 1000U}) {
      const auto tensors = tensors_of(model);
      const Buckets buckets(tensors, floats);
      for (const Slice& each : buckets.all()) {
        EXPECT_LT(each.count, 2 * floats + kChunkUnit);
        for (const Slice& tensor : tensors) {
          const bool is_cut = tensor.offset < each.offset && each.offset < tensor.offset + tensor.count;
          EXPECT_TRUE(!is_cut || tensor.count > floats) << "cut at " << each.offset;
        }
      }
    }
}

TEST(Buckets, AsLargeAsTheVectorAreOne) {
  for (const auto& model : kModels) {
    const auto tensors = tensors_of(model);
    EXPECT_EQ(Buckets(tensors, tensors.back().offset + tensors.back().count).size(), 1U);
  }
}

TEST(Readiness, TellsOfBucketsInTheirOrderWhateverThatOfTheParts) {
  for (const auto& model : kModels)
    for (unsigned seed = 0; seed < 20; ++seed) {
      auto tensors = tensors_of(model);
      std::vector<Slice> told;
      Readiness readiness(tensors, 16, [&](Slice bucket) { told.push_back(bucket); });
      std::shuffle(tensors.begin(), tensors.end(), std::mt19937(seed));
      for (int gradient = 0; gradient < 2; ++gradient) {
        told.clear();
        readiness.begin();
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          readiness.add(tensors[i]);
          for (const Slice& bucket : told)  // nothing that has not been added
            for (std::size_t j = i + 1; j < tensors.size(); ++j)
              EXPECT_TRUE(bucket.offset >= tensors[j].offset + tensors[j].count ||
                          tensors[j].offset >= bucket.offset + bucket.count);
        }
        const auto all = readiness.buckets();
        EXPECT_EQ(told,
                  readiness.overlaps() ? std::vector<Slice>(all.begin(), all.end()) : std::vector<Slice>());
      }
    }
}

TEST(Readiness, TellsInTheEndOfWhatTookNoPart) {
  const auto tensors = tensors_of({40, 40, 40});
  std::vector<Slice> told;
  Readiness readiness(tensors, 40, [&](Slice bucket) { told.push_back(bucket); });
  readiness.add(tensors[0]);
  EXPECT_EQ(told, std::vector<Slice>());
  readiness.add(tensors[2]);
  EXPECT_EQ(told, std::vector<Slice>({tensors[2]}));
  readiness.finish();
  EXPECT_EQ(told, std::vector<Slice>({tensors[2], tensors[1], tensors[0]}));
}

TEST(Readiness, OfAPartTwiceIsABug) {
  const auto tensors = tensors_of({40, 40});
  Readiness readiness(tensors, 40, [](Slice) {});
  readiness.add(tensors[1]);
  EXPECT_THROW(readiness.add(tensors[1]), Bug);
}

TEST(Readiness, SharesAreAllOfTheTime) {
  for (const auto& model : kModels) {
    const auto tensors = tensors_of(model);
    const Readiness readiness(tensors, 20, [](Slice) {});
    double sum = 0;
    for (std::size_t i = 0; i < readiness.buckets().size(); ++i) sum += readiness.share(i);
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_GT(readiness.share(0), 1.0 / 3);
  }
}

TEST(BucketFloats, AreReadInEveryUnit) {
  EXPECT_EQ(bucket_floats("--bucket", "4096", 10), 1024U);
  EXPECT_EQ(bucket_floats("--bucket", "1KiB", 10), 256U);
  EXPECT_EQ(bucket_floats("--bucket", "2MB", 10), 500'000U);
  EXPECT_EQ(bucket_floats("--bucket", "whole", 10), 10U);
  EXPECT_GT(bucket_floats("--bucket", "auto", 10), 10U);
  EXPECT_EQ(bucket_floats("--bucket", "auto", 80'000'000), 10'000'000U);
}

// By measurement: docs/benchmarks.md.
TEST(BucketFloats, AreCutByThemselvesWhereThatPays) {
  const auto floats = [](const std::string& strategy, const std::string& compress, const char* bucket) {
    const StrategyRegistry& known = builtin_strategies();
    const bool pays = overlap_pays(*make_strategy(known, strategy, 4), compress);
    return bucket_floats("--bucket", bucket, 800'000, known.find(strategy), pays);
  };
  EXPECT_EQ(floats("ssgd", "", "auto"), 100'000U);
  EXPECT_EQ(floats("ssgd", "", "whole"), 800'000U);
  EXPECT_EQ(floats("ssgd", "fp16", "auto"), 800'000U);
  for (const char* asked : {"ssgd:servers=2", "ssd", "asgd", "eager", "local"})
    EXPECT_EQ(floats(asked, "", "auto"), 800'000U) << asked;
  for (const char* asked : {"ssgd:servers=2", "ssd", "asgd", "eager"})
    EXPECT_EQ(floats(asked, "", "4KiB"), 1024U) << asked;
}

TEST(BucketFloats, ThatMakeNoBucketAreRefused) {
  for (const char* text : {"0", "000", "0KiB", "", "-1", "3", "many", "5GiB", "1.5MiB"}) {
    const std::string said = refusal([&] { bucket_floats("--bucket", text, 10); });
    EXPECT_TRUE(said.starts_with("--bucket")) << text << ": " << said;
    EXPECT_NE(said.find("give"), said.find("write")) << said;
  }
  EXPECT_EQ(refusal([] { bucket_floats("Options::bucket", "0", 10); }),
            "Options::bucket 0 leaves nothing in a bucket; give a size such as 256KiB, auto, or whole, with "
            "which the "
            "gradient is sent in one piece when all of it is computed");
}

}  // namespace
}  // namespace tacit::test
