// SPDX-License-Identifier: MIT
#include "tacit/protocols/shards.h"

#include <gtest/gtest.h>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

// Of a vector of `count` values.
ShardRuleMaker mean_rule(int ranks, std::size_t count) {
  return [=](Slice shard) {
    std::vector<float> x(count);
    return make_mean_rule(ranks, part(FloatView(x), shard));
  };
}

TEST(Shards, PullingTheMeanRuleGivesTheMeanOfAllPushesOfThatStep) {
  for (const int ranks : {1, 2, 3, 5})
    for (int servers = 1; servers <= ranks; ++servers)
      on_every_comm(ranks, [&](Comm& comm) {
        const std::size_t count = 1000;
        Shards shards(comm, servers, count, mean_rule(ranks, count));
        for (int step = 0; step < 20; ++step) {
          std::vector<float> x(count);
          for (std::size_t i = 0; i < count; ++i)
            x[i] = static_cast<float>(static_cast<int>(i) * comm.rank() + step);
          shards.push(step, x);
          shards.pull(step, x);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_FLOAT_EQ(
                x[i], static_cast<float>(i) * static_cast<float>(ranks - 1) / 2 + static_cast<float>(step));
        }
        shards.close();
      });
}

TEST(Shards, AWorkerSendsItsVectorUpOnceAndTheServersSendItDownOnce) {
  constexpr std::size_t kCount = 16 * 100;
  constexpr std::size_t kHeader = 32;
  on_every_comm(4, [&](Comm& comm) {
    Shards shards(comm, 4, kCount, mean_rule(4, kCount));
    std::vector<float> x(kCount, 1.0F);
    shards.push(0, x);
    shards.pull(0, x);
    comm.barrier();  // all answers are out
    // Up: a quarter to each of three others, with a header. Pull: three headers. Down: three answers of a quarter.
    // What a worker says to its own shard costs nothing.
    EXPECT_EQ(comm.ledger().sent(Tag::Lane::kTrain).payload, 6 * kCount / 4 * sizeof(float) + 6 * kHeader);
    shards.close();
  });
}

TEST(Shards, MoreServersThanWorkersAreRefused) {
  on_every_comm(2, [](Comm& comm) { EXPECT_THROW(Shards(comm, 3, 10, mean_rule(2, 10)), InvalidConfig); });
}

TEST(Shards, FewerParametersThanServersLeaveSomeServersEmpty) {
  on_every_comm(4, [](Comm& comm) {
    Shards shards(comm, 4, 5, mean_rule(4, 5));
    std::vector<float> x(5, static_cast<float>(comm.rank()));
    shards.push(0, x);
    shards.pull(0, x);
    for (const float v : x) EXPECT_EQ(v, 1.5F);
    shards.close();
  });
}

}  // namespace
}  // namespace tacit::test
