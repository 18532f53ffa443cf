// SPDX-License-Identifier: MIT
#include "train/data/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "support/refusal.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

using Labels = std::vector<std::uint32_t>;

// One sample of each class after the other.
Labels equal_classes(int classes, int each) {
  Labels labels;
  for (int i = 0; i < classes * each; ++i) labels.push_back(static_cast<std::uint32_t>(i % classes));
  return labels;
}

std::vector<Shard> deal(const std::string& how, const Labels& labels, int ranks, std::uint64_t seed = 1) {
  return deal_samples(Sharding::parse(how), labels, ranks, seed);
}

std::set<std::uint32_t> classes_in(const Shard& shard, const Labels& labels) {
  std::set<std::uint32_t> all;
  for (const std::uint32_t sample : shard) all.insert(labels[sample]);
  return all;
}

constexpr const char* kWays[] = {"classes:1", "classes:2", "classes:5", "dirichlet:0.1", "dirichlet:1"};

TEST(Shards, EachSampleBelongsToExactlyOneRank) {
  const Labels labels = equal_classes(5, 40);
  for (const char* how : kWays)
    for (const int ranks : {5, 8, 13}) {
      std::vector<std::uint32_t> all;
      for (const Shard& shard : deal(how, labels, ranks)) {
        EXPECT_FALSE(shard.empty()) << how;
        EXPECT_TRUE(std::is_sorted(shard.begin(), shard.end()));
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<std::uint32_t> everything(labels.size());
      std::iota(everything.begin(), everything.end(), 0U);
      EXPECT_EQ(all, everything) << how << " on " << ranks;
    }
}

TEST(Shards, WithClassesEachRankHasSoManyAndEachClassAboutAsManyRanks) {
  const Labels labels = equal_classes(10, 50);
  for (const std::int64_t each : {1, 2, 3, 7, 10})
    for (const int ranks : {10, 16, 25}) {
      std::map<std::uint32_t, int> holders;
      for (const Shard& shard : deal("classes:" + std::to_string(each), labels, ranks)) {
        const std::set<std::uint32_t> mine = classes_in(shard, labels);
        EXPECT_EQ(static_cast<std::int64_t>(mine.size()), each);
        for (const std::uint32_t label : mine) ++holders[label];
      }
      ASSERT_EQ(holders.size(), 10U);
      const auto [least, most] = std::minmax_element(
          holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      EXPECT_LE(most->second - least->second, 1) << each << " classes, " << ranks << " ranks";
    }
}

TEST(Shards, SamplesOfAClassAreDividedAmongItsHolders) {
  const Labels labels = equal_classes(4, 100);
  std::map<std::uint32_t, std::vector<std::size_t>> shares;
  for (const Shard& shard : deal("classes:2", labels, 6))
    for (const std::uint32_t label : classes_in(shard, labels))
      shares[label].push_back(static_cast<std::size_t>(
          std::count_if(shard.begin(), shard.end(),
                        [&, at = label](std::uint32_t sample) { return labels[sample] == at; })));
  for (const auto& [label, sizes] : shares) {
    EXPECT_EQ(sizes.size(), 3U);
    for (const std::size_t size : sizes) EXPECT_TRUE(size == 33 || size == 34) << size;
  }
}

TEST(Shards, AHugeAlphaIsNearlyEqualAndATinyOneNearlyOneClassEach) {
  const Labels labels = equal_classes(4, 500);
  const ShardSpread even = spread_of(deal("dirichlet:100000", labels, 4), labels);
  EXPECT_NEAR(even.largest_class, 0.25, 0.01);
  EXPECT_GT(even.smallest, 480);
  EXPECT_LT(even.largest, 520);
  const ShardSpread odd = spread_of(deal("dirichlet:0.001", labels, 4), labels);
  EXPECT_GT(odd.largest_class, 0.99);
  const ShardSpread between = spread_of(deal("dirichlet:0.5", labels, 4), labels);
  EXPECT_GT(between.largest_class, even.largest_class);
  EXPECT_LT(between.largest_class, odd.largest_class);
}

TEST(Shards, TheSameSeedGivesTheSameAndAnotherSeedOthers) {
  const Labels labels = equal_classes(5, 40);
  for (const char* how : kWays) {
    const auto once = deal(how, labels, 8);
    EXPECT_EQ(deal(how, labels, 8), once) << how;
    EXPECT_NE(deal(how, labels, 8, 2), once) << how;
  }
}

TEST(Shards, WhatTheyAreIsTheSameOnEveryMachine) {
  const Labels labels = equal_classes(3, 4);
  EXPECT_EQ(deal("classes:1", labels, 3), (std::vector<Shard>{{2, 5, 8, 11}, {1, 4, 7, 10}, {0, 3, 6, 9}}));
  EXPECT_EQ(deal("dirichlet:0.5", labels, 3),
            (std::vector<Shard>{{1, 3, 10}, {4, 6, 7, 9}, {0, 2, 5, 8, 11}}));
}

TEST(Shards, AClassWithoutSamplesIsNoClass) {
  const Labels labels{3, 3, 7, 7, 2000, 2000};
  EXPECT_EQ(spread_of(deal("classes:1", labels, 3), labels).largest_class, 1);
  expect_refusal([&] { deal("classes:4", labels, 3); }, {"classes:4", "3 classes"});
}

TEST(Shards, TheirSpreadIsCounted) {
  const Labels labels{0, 0, 0, 1, 1, 2};
  const std::vector<Shard> shards{{0, 1, 2, 3}, {4, 5}};
  const ShardSpread spread = spread_of(shards, labels);
  EXPECT_EQ(spread.smallest, 2);
  EXPECT_EQ(spread.largest, 4);
  EXPECT_DOUBLE_EQ(spread.largest_class, (0.75 + 0.5) / 2);
}

TEST(Shards, WhatCannotBeDealtOutIsRefused) {
  const auto parse = [](const char* text) { return [=] { Sharding::parse(text); }; };
  for (const char* bad : {"classes", "classes:", "classes:0", "classes:-1", "classes:2x", "classes:2,3"})
    expect_refusal(parse(bad), {std::string("--shards ") + bad, "number of classes", "classes:2"});
  for (const char* bad : {"dirichlet", "dirichlet:0", "dirichlet:x", "dirichlet:-1", "dirichlet:nan",
                          "dirichlet:inf", "dirichlet:1e-9"})
    expect_refusal(parse(bad), {std::string("--shards ") + bad, "ALPHA", "dirichlet:0.1"});
  expect_refusal(parse("iid:2"), {"--shards iid:2", "write iid"});
  expect_refusal(parse("foo"), {"'foo'", "iid", "classes", "dirichlet"});
  expect_refusal(parse("dirichlit:1"), {"'dirichlet'"});
  const Labels labels = equal_classes(10, 10);
  expect_refusal([&] { deal("classes:11", labels, 4); }, {"classes:11", "10 classes", "or fewer"});
  expect_refusal([&] { deal("classes:2", labels, 4); },
                 {"4 workers hold 8", "10 classes", "classes:3 or more"});
  EXPECT_NO_THROW(deal("classes:3", labels, 4));
}

TEST(Shards, NoRankIsLeftWithoutASample) {
  const Labels few = equal_classes(3, 2);
  expect_refusal([&] { deal("classes:1", few, 7); }, {"without a sample", "fewer workers"});
  expect_refusal([&] { deal("dirichlet:1", few, 7); }, {"7 workers", "without a sample", "larger ALPHA"});
  expect_refusal([&] { deal("dirichlet:0.00001", equal_classes(3, 100), 5); }, {"larger ALPHA"});
  EXPECT_EQ(deal("classes:1", few, 6).size(), 6U);
}

TEST(Shards, WhereClassesAreSmallNotTheSameRanksGoAwayEmptyFromEach) {
  const Labels small = equal_classes(50, 4);
  for (const char* how : {"classes:50", "dirichlet:100000"})
    for (const Shard& shard : deal(how, small, 20)) EXPECT_GT(classes_in(shard, small).size(), 1U) << how;
}

TEST(Shards, ExamplesAreAcceptedAndOptionsHaveAMeaning) {
  for (const ShardingInfo& info : builtin_shardings().all()) {
    EXPECT_EQ(Sharding::parse(info.example).kind, info.kind);
    for (const OptionInfo& each : info.options) EXPECT_FALSE(each.meaning.empty()) << info.name;
  }
}

std::vector<std::uint32_t> first_draws(ShardSampler& sampler, std::int64_t steps) {
  std::vector<std::uint32_t> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto batch = sampler.indices(step);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

// Where batches do not fit into a pass, and where a pass does not fit into a batch.
TEST(ShardSampler, EveryPassHasEverySampleOnceInAnotherOrder) {
  const Shard shard{2, 3, 5, 7, 11, 13, 17};
  for (const std::size_t batch : {3U, 7U, 20U}) {
    ShardSampler sampler(shard, batch, {1, 9});
    const auto drawn = first_draws(sampler, 21);
    std::set<Shard> orders;
    for (std::size_t at = 0; at + shard.size() <= drawn.size(); at += shard.size()) {
      Shard pass(drawn.begin() + static_cast<std::ptrdiff_t>(at),
                 drawn.begin() + static_cast<std::ptrdiff_t>(at + shard.size()));
      orders.insert(pass);
      std::sort(pass.begin(), pass.end());
      EXPECT_EQ(pass, shard) << "from draw " << at;
    }
    EXPECT_GT(orders.size(), 7U) << "of " << drawn.size() / shard.size();
  }
}

TEST(ShardSampler, AStepIsTheSameWhateverWasAskedBefore) {
  const Shard shard{1, 2, 3, 4, 5};
  ShardSampler steady(shard, 4, {0, 1});
  const auto drawn = first_draws(steady, 12);
  ShardSampler resumed(shard, 4, {0, 1});
  for (const std::int64_t step : {11, 3, 7}) {
    const auto batch = resumed.indices(step);
    EXPECT_TRUE(std::equal(batch.begin(), batch.end(), drawn.begin() + step * 4)) << step;
  }
  ShardSampler other_rank(shard, 4, {1, 1});
  ShardSampler other_seed(shard, 4, {0, 2});
  EXPECT_NE(first_draws(other_rank, 12), drawn);
  EXPECT_NE(first_draws(other_seed, 12), drawn);
}

TEST(ShardSampler, OneSampleIsEnoughForABatch) {
  ShardSampler sampler({42}, 3, {0, 1});
  EXPECT_EQ(first_draws(sampler, 2), (std::vector<std::uint32_t>(6, 42)));
}

// What each rank computes a gradient of, by rank and label.
using Seen = std::vector<std::map<std::int64_t, int>>;

class Spy final : public Model {
 public:
  Spy(std::unique_ptr<Model> inner, std::map<std::int64_t, int>& seen)
      : inner_(std::move(inner)), seen_(seen) {}
  std::span<const Slice> tensors() const override { return inner_->tensors(); }
  FloatView params() override { return inner_->params(); }
  FloatView gradient() override { return inner_->gradient(); }
  double compute_gradient(const Batch& batch, const Ready& ready) override {
    for (const std::int64_t label : batch.labels) ++seen_[label];
    return inner_->compute_gradient(batch, ready);
  }
  Score evaluate(const Batch& batch) override { return inner_->evaluate(batch); }

 private:
  std::unique_ptr<Model> inner_;
  std::map<std::int64_t, int>& seen_;
};

Seen seen_by_ranks(const std::string& strategy, const std::string& shards, std::int64_t& steps) {
  constexpr int kRanks = 4;
  Seen seen(kRanks);
  std::vector<RankReport> reports(kRanks);
  NoObserver nobody;
  TrainOptions options;
  options.strategy = strategy;
  options.shards = shards;
  options.batch = 30;
  World::threads(kRanks, {.limits = {Seconds(60), Seconds(20), nullptr}}).run([&](Process& me) {
    const auto rank = static_cast<std::size_t>(me.rank());
    const auto make = [&] {
      return std::make_unique<Spy>(make_model(builtin_models(), "logistic", test_context(1)), seen[rank]);
    };
    train_rank(me, {test_data(), builtin_strategies(), make, options, nobody, [] { return false; }},
               reports[rank]);
  });
  steps = reports[0].steps;
  return seen;
}

TEST(Shards, ARankTrainsOnItsOwnSamplesWhateverTheStrategyAndAsManyAsWithIid) {
  std::int64_t steps = 0;
  std::int64_t iid_steps = 0;
  const Seen seen = seen_by_ranks("ssgd", "classes:2", steps);
  std::set<std::int64_t> all;
  for (const auto& mine : seen) {
    EXPECT_EQ(mine.size(), 2U);
    for (const auto& [label, times] : mine) all.insert(label);
  }
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(seen_by_ranks("local:period=3", "classes:2", steps), seen);
  for (const auto& mine : seen_by_ranks("ssgd", "iid", iid_steps)) EXPECT_EQ(mine.size(), 4U);
  EXPECT_EQ(steps, iid_steps);
  EXPECT_EQ(steps, 8);
}

TEST(Shards, EveryStrategyEndsWithEqualWeightsOnRanksThatAreNotAlike) {
  for (const StrategyInfo& info : builtin_strategies().all()) {
    TrainCase c;
    c.strategy = info.name;
    c.shards = "classes:1";
    c.lr = 0.02;
    EXPECT_EQ(train(c).summary.steps, 20) << info.name;  // throws where they are not equal
  }
}

}  // namespace
}  // namespace tacit::test
