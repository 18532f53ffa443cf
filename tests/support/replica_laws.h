// SPDX-License-Identifier: MIT
// Laws that several strategies keep.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/replicas.h"

namespace tacit::test {

// The mean over ranks of what a plain step with gradient(), which is there, makes of their weights. Collective.
inline std::vector<float> mean_of_plain_steps(Replica& r) {
  std::vector<float> mean = weights_of(r);
  const std::vector<float> g = gradient_of(r);
  for (std::size_t i = 0; i < g.size(); ++i) mean[i] -= r.lr() * g[i];
  r.control().mean(mean);
  return mean;
}

// Whatever replicas tell each other, their mean moves by the mean gradient and by nothing else.
inline void expect_mean_moves_by_gradients_alone(const ReplicaCase& c) {
  with_replicas(c, [&](Replica& r, Strategy& strategy) {
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      r.compute();
      const std::vector<float> expected = mean_of_plain_steps(r);
      strategy.step(r);
      std::vector<float> now = weights_of(r);
      r.control().mean(now);
      for (std::size_t i = 0; i < now.size(); ++i)
        ASSERT_NEAR(now[i], expected[i], 1e-5F) << c.strategy << " of " << c.ranks;
    }
    strategy.finish(r);
  });
}

// A strategy with rounds of three or four steps ends with the same bits where it was stopped inside a round, between two
// and at the end, plain and with what a compressor remembers.
inline void expect_rounds_resume_to_the_bit(const std::string& strategy) {
  for (const char* compress : {"", "topk:ratio=0.1,ef,min=0"}) {
    const ReplicaCase c{
        .strategy = strategy, .ranks = 3, .steps = 11, .optimizer = "sgd:momentum=0.9", .compress = compress};
    const Weights whole = run_replicas(c);
    for (const std::int64_t at : {2, 3, 7, 11})
      EXPECT_EQ(run_resumed(c, at), whole) << strategy << " at " << at;
  }
}

}  // namespace tacit::test
