// SPDX-License-Identifier: MIT
// Laws of strategies that go on without ranks that are lost, in virtual time, where every moment can be had.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/few_numbers.h"

namespace tacit::test {

// Whenever one of four ranks crashes, before, in and after the steps, the others end with equal and finite weights.
inline void expect_survival(const std::string& spec) {
  WorldOptions options = without_limits();
  options.survive = true;
  for (const int victim : {0, 2})
    for (int moment = 0; moment < 20; ++moment) {
      Cluster cluster = cluster_of(4);
      cluster.jitter = 0.3;
      cluster.crashes.push_back({victim, Seconds(0.0001 + 0.0043 * moment)});
      Floats ends(4);
      simulate(
          cluster,
          [&](Process& me) {
            FewNumbers r(me, spec, 2000);
            for (std::int64_t t = 0; t < 6; ++t) {
              r.step(t);
              if (t == 3) r.mean();
            }
            r.strategy->finish(r.worker);
            ends[static_cast<std::size_t>(me.rank())] = r.x();
          },
          [&](World&) {
            EXPECT_TRUE(ends[1] > 0 && ends[1] < 5) << spec << ", moment " << moment;
            for (const int rank : {0, 2, 3})
              if (rank != victim) {
                EXPECT_EQ(ends[static_cast<std::size_t>(rank)], ends[1])
                    << spec << ", rank " << rank << ", moment " << moment;
              }
          },
          options);
    }
}

// Rank i wants all numbers to be i. Whoever crashes, and when: of four ranks those that live end with equal weights,
// which are near what they want on average, also in the shards of ranks that are gone.
inline void expect_learning_without(const std::string& spec, const std::vector<Crash>& crashes) {
  WorldOptions options = without_limits();
  options.survive = true;
  Cluster cluster = cluster_of(4);
  cluster.jitter = 0.3;
  cluster.crashes = crashes;
  const auto crashed = [&](int rank) {
    return std::any_of(crashes.begin(), crashes.end(), [&](const Crash& each) { return each.rank == rank; });
  };
  float wanted = 0;
  for (int rank = 0; rank < 4; ++rank)
    if (!crashed(rank)) wanted += static_cast<float>(rank) / static_cast<float>(4 - crashes.size());
  std::vector<Floats> ends(4);
  simulate(
      cluster,
      [&](Process& me) {
        FewNumbers r(me, spec, 2000);
        for (std::int64_t t = 0; t < 60; ++t) {
          for (std::size_t i = 0; i < r.worker.params().size(); ++i)
            r.worker.gradient().host()[i] =
                0.3F * (r.worker.params().host()[i] - static_cast<float>(me.rank()));
          r.step(t);
          if (t == 20) r.mean();
        }
        r.strategy->finish(r.worker);
        ends[static_cast<std::size_t>(me.rank())] = {r.worker.params().host().begin(),
                                                     r.worker.params().host().end()};
      },
      [&](World&) {
        Floats first;
        for (int rank = 0; rank < 4; ++rank) {
          const Floats& end = ends[static_cast<std::size_t>(rank)];
          if (crashed(rank)) continue;
          if (first.empty()) first = end;
          EXPECT_EQ(end, first) << spec << ", rank " << rank;
          for (const float x : end) ASSERT_NEAR(x, wanted, 0.5) << spec << ", rank " << rank;
        }
        EXPECT_FALSE(first.empty()) << spec;
      },
      options);
}

// The ranks that keep shards are lost: one, two one after the other, one with the one that keeps its shard next, before
// and after that has it, and all but the last.
inline void expect_learning_without_servers(const std::string& spec) {
  const std::vector<std::vector<Crash>> plans{{{0, Seconds(0.1)}},
                                              {{2, Seconds(0.1)}},
                                              {{0, Seconds(0.1)}, {2, Seconds(0.2)}},
                                              {{0, Seconds(0.1)}, {1, Seconds(0.1001)}},
                                              {{1, Seconds(0.1)}, {2, Seconds(0.15)}},
                                              {{3, Seconds(0.1)}, {0, Seconds(0.103)}, {1, Seconds(0.3)}}};
  for (const auto& crashes : plans) expect_learning_without(spec, crashes);
}

}  // namespace tacit::test
