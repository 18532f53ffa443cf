// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/replica_laws.h"
#include "support/replicas.h"
#include "support/train.h"
#include "topology/graph.h"

namespace tacit::test {
namespace {

TEST(Sgp, ConservesTheSumOfNumeratorsButForGradients) {
  for (const char* spec : {"sgp", "sgp:overlap"})
    for (const int ranks : {2, 3, 5, 8})
      expect_mean_moves_by_gradients_alone({.strategy = spec, .ranks = ranks, .steps = 7});
}

TEST(Sgp, WithoutGradientsAllHaveTheMeanAfterAsManyStepsAsThereAreHops) {
  const ReplicaCase c{.strategy = "sgp", .ranks = 8, .lr = [](std::int64_t) { return 0.0F; }};
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    std::vector<float> own(r.params().size(), static_cast<float>(r.rank()));
    copy(own, r.params());
    take_steps(r, strategy, 0, 3);
    EXPECT_EQ(weights_of(r), std::vector<float>(own.size(), 3.5F));
    strategy.finish(r);
  });
}

TEST(Sgp, OverlappedItAppliesTheGradientBehindTheMeanWithTheLastPeer) {
  const ReplicaCase c{.strategy = "sgp:overlap", .ranks = 3};
  Weights before(3);
  Weights gradient(3);
  Weights after(3);
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    take_steps(r, strategy, 0, 2);
    const auto me = static_cast<std::size_t>(r.rank());
    before[me] = weights_of(r);
    r.set_t(2);
    r.compute();
    gradient[me] = gradient_of(r);
    strategy.step(r);
    after[me] = weights_of(r);
    strategy.finish(r);
  });
  const auto hop = static_cast<std::size_t>(exponential_hop(1, 3));
  for (std::size_t me = 0; me < 3; ++me)
    for (std::size_t i = 0; i < after[me].size(); ++i)
      ASSERT_NEAR(after[me][i], (before[me][i] + before[(me + 3 - hop) % 3][i]) / 2 - 0.1F * gradient[me][i],
                  1e-6F);
}

TEST(Sgp, ItsHopsReachEveryRank) {
  for (int n = 1; n < 40; ++n) {
    int reach = 1;  // how many ranks have heard of one, at most
    for (std::int64_t t = 0; t < 6; ++t) {
      const int hop = exponential_hop(t, n);
      EXPECT_LT(hop, n);
      if (hop == reach) reach *= 2;
    }
    EXPECT_GE(reach, n);
  }
}

TEST(Sgp, WithOneRankIsPlainSgd) {
  EXPECT_EQ(train({.strategy = "sgp", .ranks = 1}).params[0],
            train({.strategy = "ssgd", .ranks = 1}).params[0]);
}

TEST(Sgp, SendsOneModelPerStepAndRank) {
  const std::size_t model = train({.ranks = 1, .steps = 1}).params[0].size() * sizeof(float);
  for (const char* spec : {"sgp", "sgp:overlap"}) {
    const auto bytes = [&](std::int64_t steps) {
      return train({.strategy = spec, .ranks = 4, .steps = steps}).summary.bytes_payload;
    };
    EXPECT_EQ(bytes(9) - bytes(6), 4 * 3 * model) << spec;
  }
}

}  // namespace
}  // namespace tacit::test
