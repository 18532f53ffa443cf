// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>

#include "support/strategy_worlds.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

TEST(Ssgd, IsPlainSgdOnTheGlobalBatchForEveryNumberOfRanks) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov", "adamw"}) {
    const double lr = std::string(optimizer) == "adamw" ? 0.001 : 0.05;
    const Trained one = train({.strategy = "ssgd", .ranks = 1, .optimizer = optimizer, .lr = lr});
    for (const int ranks : {2, 4, 5, 8})
      expect_near(train({.strategy = "ssgd", .ranks = ranks, .optimizer = optimizer, .lr = lr}).params[0],
                  one.params[0], 2e-4F);
  }
}

TEST(Ssgd, ReachesTheMinimumOfAQuadratic) {
  // Every step sees all images, and the minimiser is their mean.
  const TrainCase c{
      .strategy = "ssgd", .ranks = 4, .steps = 200, .global_batch = 960, .model = "quadratic", .lr = 0.1};
  std::vector<std::uint32_t> all(test_data().train.size());
  std::iota(all.begin(), all.end(), 0U);
  Batch images;
  gather(test_data().train, all, images);
  const std::size_t pixels = images.shape.size();
  std::vector<float> mean(pixels);
  for (std::size_t j = 0; j < pixels; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += static_cast<double>(images.images[i * pixels + j]);
    mean[j] = static_cast<float>(sum / static_cast<double>(all.size()));
  }
  expect_near(train(c).params[0], mean, 1e-5F);
}

TEST(Ssgd, SendsOneAllReduceOfTheGradientPerStep) {
  const Trained t = train({.strategy = "ssgd", .ranks = 2, .steps = 10});
  const std::size_t d = t.params[0].size();
  // Below the limit for small vectors: recursive doubling, one whole vector per rank. And once rank 0's weights.
  ASSERT_LE(d * sizeof(float), 16U * 1024U);
  EXPECT_EQ(t.summary.bytes_payload, (10 * 2 + 1) * d * sizeof(float));
}

// 616 parameters in buckets of 16 to 160, of which the last tensors have several and the first is cut.
TEST(Ssgd, InBucketsIsTheSameAlgorithmWithTheSameBitsInEveryWorld) {
  const std::vector<float> whole = train({.strategy = "ssgd", .ranks = 4, .bucket = "whole"}).params[0];
  EXPECT_EQ(train({.strategy = "ssgd", .ranks = 4}).params[0], whole);  // auto: it is smaller than a bucket
  for (const char* bucket : {"64", "640"}) {
    const TrainCase c{.strategy = "ssgd", .ranks = 4, .bucket = bucket};
    const Trained once = train(c);
    expect_near(once.params[0], whole, 1e-5F);
    for (const StrategyWorld& each : strategy_worlds())
      if (each.built())
        each.open(4, Pace::kUneven, [&](const OpenWorld& world) {
          const Trained there = train_by(world.run, c);
          EXPECT_EQ(there.params[0], once.params[0]) << each.name << ", " << bucket;
          EXPECT_EQ(there.summary.bytes_payload, once.summary.bytes_payload) << each.name;
          return "";
        });
  }
}

TEST(Ssgd, CompressedInBucketsGivesTheSameBitsInEveryWorld) {
  for (const char* form : {"topk:ratio=0.1,ef,min=0,per=bucket", "onebit,ef,min=0", "fp16,min=0"}) {
    const TrainCase c{.strategy = "ssgd", .ranks = 4, .compress = form, .bucket = "200"};
    const Trained once = train(c);
    for (const StrategyWorld& each : strategy_worlds())
      if (each.built())
        each.open(4, Pace::kUneven, [&](const OpenWorld& world) {
          EXPECT_EQ(train_by(world.run, c).params[0], once.params[0]) << each.name << ", " << form;
          return "";
        });
  }
}

TEST(Ssgd, OnServerShardsInBucketsHasTheBitsOfTheWhole) {
  const auto trained = [](const char* bucket) {
    return train({.strategy = "ssgd:servers=3", .ranks = 4, .bucket = bucket}).params[0];
  };
  EXPECT_EQ(trained("200"), trained("whole"));
}

TEST(Ssgd, ALossThatIsNotFiniteEndsTheRunWithPartsUnderWay) {
  const TrainCase c{.strategy = "ssgd", .ranks = 3, .global_batch = 30, .lr = 1e30, .bucket = "64"};
  EXPECT_THROW(train(c), Diverged);
}

TEST(Ssgd, OnServerShardsIsTheSameAlgorithm) {
  const Trained all_reduce = train({.strategy = "ssgd", .ranks = 4});
  for (const int servers : {1, 2, 4})
    expect_near(train({.strategy = "ssgd:servers=" + std::to_string(servers), .ranks = 4}).params[0],
                all_reduce.params[0], 1e-5F);
}

TEST(Ssgd, OnServerShardsGivesTheSameBitsForTheSameSeed) {
  const TrainCase c{.strategy = "ssgd:servers=3", .ranks = 4};
  EXPECT_EQ(train(c).params[0], train(c).params[0]);
}

TEST(Ssgd, MoreServersThanWorkersAreRefused) {
  EXPECT_THROW(make_strategy(builtin_strategies(), "ssgd:servers=5", 4), InvalidConfig);
}

}  // namespace
}  // namespace tacit::test
