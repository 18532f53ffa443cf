// SPDX-License-Identifier: MIT
#include "tacit/torch/rank_sampler.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <numeric>
#include <set>
#include <sstream>

#include "core/mutex.h"
#include "support/refusal.h"

namespace tacit::torch {
namespace {

using Indices = std::vector<std::size_t>;
using Options = RankSampler::Options;
using Rest = RankSampler::Rest;

// Calls `use` with the sampler of each rank in turn.
template <class Use>
void with_samplers(int ranks, std::size_t samples, const Options& options, const Use& use) {
  Mutex one_at_a_time;
  World::threads(ranks).run([&](Process& me) {
    const MutexLock lock(one_at_a_time);
    RankSampler sampler(me, samples, options);
    use(me.rank(), sampler);
  });
}

Indices rest_of_epoch(RankSampler& sampler, std::size_t batch) {
  Indices all;
  while (const auto some = sampler.next(batch)) all.insert(all.end(), some->begin(), some->end());
  return all;
}

Indices sorted(Indices all) {
  std::sort(all.begin(), all.end());
  return all;
}

TEST(RankSampler, SharesAreDisjointAndCoverAllInEveryEpoch) {
  std::array<Indices, 3> epochs;
  with_samplers(4, 40, {}, [&](int, RankSampler& sampler) {
    for (Indices& epoch : epochs) {
      sampler.reset();
      const Indices mine = rest_of_epoch(sampler, 3);
      EXPECT_EQ(mine.size(), 10U);
      EXPECT_EQ(mine.size(), sampler.samples());
      epoch.insert(epoch.end(), mine.begin(), mine.end());
    }
  });
  Indices all(40);
  std::iota(all.begin(), all.end(), 0U);
  for (const Indices& epoch : epochs) EXPECT_EQ(sorted(epoch), all);
}

TEST(RankSampler, EveryResetShufflesAnewAndANewRunDrawsTheSame) {
  with_samplers(1, 100, {}, [&](int, RankSampler& sampler) {
    RankSampler again = sampler;
    std::set<Indices> seen;
    for (int epoch = 0; epoch < 5; ++epoch) {
      sampler.reset();
      EXPECT_EQ(sampler.epoch(), epoch);
      again.set_epoch(epoch);
      again.reset();
      const Indices drawn = rest_of_epoch(sampler, 7);
      EXPECT_EQ(drawn, rest_of_epoch(again, 100));
      EXPECT_TRUE(seen.insert(drawn).second) << epoch;
    }
  });
}

TEST(RankSampler, AnotherSeedIsAnotherOrder) {
  std::set<Indices> seen;
  for (const std::uint64_t seed : {1, 2, 3})
    with_samplers(1, 50, {.seed = seed}, [&](int, RankSampler& sampler) {
      EXPECT_TRUE(seen.insert(rest_of_epoch(sampler, 50)).second);
    });
}

TEST(RankSampler, WhatDoesNotDivideIsDroppedOrKept) {
  Indices dropped;
  with_samplers(4, 11, {}, [&](int, RankSampler& sampler) {
    const Indices mine = rest_of_epoch(sampler, 4);
    EXPECT_EQ(mine.size(), 2U);
    dropped.insert(dropped.end(), mine.begin(), mine.end());
  });
  EXPECT_EQ(std::set<std::size_t>(dropped.begin(), dropped.end()).size(), 8U);
  Indices kept;
  with_samplers(4, 11, {.rest = Rest::kKeep}, [&](int rank, RankSampler& sampler) {
    const Indices mine = rest_of_epoch(sampler, 4);
    EXPECT_EQ(mine.size(), rank < 3 ? 3U : 2U);
    EXPECT_EQ(mine.size(), sampler.samples());
    kept.insert(kept.end(), mine.begin(), mine.end());
  });
  EXPECT_EQ(sorted(kept), (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(RankSampler, GlobalBatchesAreThoseOfTacitTrain) {
  constexpr std::size_t kBatch = 6;  // per rank
  std::vector<Indices> steps(4);
  with_samplers(2, 50, {.seed = 9}, [&](int, RankSampler& sampler) {
    for (Indices& step : steps) {
      const auto mine = sampler.next(kBatch);
      step.insert(step.end(), mine->begin(), mine->end());
    }
  });
  tacit::Sampler theirs(50, kBatch, 2, 9);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    Indices expected;
    for (int rank = 0; rank < 2; ++rank)
      for (const std::uint32_t index : theirs.indices(0, static_cast<std::int64_t>(s), rank))
        expected.push_back(index);
    EXPECT_EQ(sorted(steps[s]), sorted(expected)) << s;
  }
}

// Numbers 0, 1, ... as a data set.
class Numbers : public ::torch::data::datasets::Dataset<Numbers> {
 public:
  ::torch::data::Example<> get(std::size_t index) override {
    return {::torch::tensor(static_cast<std::int64_t>(index)), {}};
  }
  ::torch::optional<std::size_t> size() const override { return 30; }
};

TEST(RankSampler, FeedsADataLoaderWithWorkersAnotherShuffleInEachLoop) {
  std::array<Indices, 2> epochs;
  Mutex one_at_a_time;
  World::threads(3).run([&](Process& me) {
    const MutexLock lock(one_at_a_time);
    auto loader = ::torch::data::make_data_loader(Numbers(), RankSampler(me, *Numbers().size()),
                                                  ::torch::data::DataLoaderOptions(4).workers(2));
    for (Indices& epoch : epochs)
      for (const auto& batch : *loader)
        for (const auto& sample : batch)
          epoch.push_back(static_cast<std::size_t>(sample.data.item<std::int64_t>()));
  });
  EXPECT_NE(epochs[0], epochs[1]);
  for (const Indices& epoch : epochs) {
    EXPECT_EQ(epoch.size(), 30U);
    EXPECT_EQ(std::set<std::size_t>(epoch.begin(), epoch.end()).size(), 30U);
  }
}

TEST(RankSampler, ALoadedOneGoesOnWhereItWasSaved) {
  with_samplers(2, 60, {}, [&](int, RankSampler& sampler) {
    sampler.set_epoch(3);
    sampler.reset();
    sampler.next(7);
    std::stringstream file;
    ::torch::serialize::OutputArchive out;
    sampler.save(out);
    out.save_to(file);
    RankSampler loaded = sampler;
    loaded.set_epoch(0);
    ::torch::serialize::InputArchive in;
    in.load_from(file);
    loaded.load(in);
    loaded.reset();  // as a data loader does
    EXPECT_EQ(loaded.epoch(), 3);
    const Indices left = rest_of_epoch(loaded, 5);
    EXPECT_EQ(left.size(), 23U);
    EXPECT_EQ(left, rest_of_epoch(sampler, 9));
    loaded.reset();
    EXPECT_EQ(loaded.epoch(), 4);
  });
}

TEST(RankSampler, ADataSetMayChangeItsSize) {
  with_samplers(2, 10, {}, [&](int, RankSampler& sampler) {
    sampler.reset(20);
    EXPECT_EQ(rest_of_epoch(sampler, 4).size(), 10U);
  });
}

TEST(RankSampler, RefusesFewerSamplesThanRanks) {
  World::threads(3).run([](Process& me) {
    test::expect_parts(test::refusal([&] { RankSampler(me, 2); }), {"3 ranks", "2 samples", "more samples"});
    test::expect_parts(test::refusal([&] { RankSampler(me, std::size_t{1} << 32U); }),
                       {"4294967296", "2^32"});
    RankSampler sampler(me, 3);
    test::expect_parts(test::refusal([&] { sampler.set_epoch(-1); }), {"-1", "from 0"});
  });
}

}  // namespace
}  // namespace tacit::torch
