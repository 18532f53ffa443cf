// SPDX-License-Identifier: MIT
// Ranks that run out of batches at different steps.
#include <gtest/gtest.h>

#include <cmath>

#include "support/refusal.h"
#include "support/torch_loop.h"

namespace tacit::torch {
namespace {

using test::expect_parts;
using test::fixed_net;
using test::loss_on;
using test::RankLoop;
using test::refusal;
using test::weights_after;
using test::weights_of;

constexpr int kRanks = 3;
int batches_of(int rank) { return 2 + 2 * rank; }

// What a mean over the ranks that still have batches makes of one model.
std::vector<float> by_hand(bool by_samples) {
  auto net = fixed_net();
  ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < batches_of(kRanks - 1); ++step) {
    optimizer.zero_grad();
    ::torch::Tensor loss = ::torch::zeros({});
    double weight = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (step >= batches_of(rank)) continue;
      const double mine = by_samples ? rank + 2 : 1;
      loss = loss + mine * loss_on(net, step, rank * 8, rank * 8 + (by_samples ? rank + 2 : 8));
      weight += mine;
    }
    (loss / weight).backward();
    optimizer.step();
  }
  return weights_of(*net);
}

TEST(Join, AStepIsTheMeanOverTheRanksThatHaveBatches) {
  for (const bool by_samples : {false, true}) {
    const auto ranks = weights_after(kRanks,
                                     [&](Process& me, RankLoop& t) {
                                       const int rows = by_samples ? me.rank() + 2 : 8;
                                       for (int step = 0; step < batches_of(me.rank()); ++step) {
                                         t.backward(step, me.rank() * 8, me.rank() * 8 + rows);
                                         by_samples ? t.sync->step(rows) : t.sync->step();
                                       }
                                       t.sync->join();
                                       EXPECT_EQ(t.sync->account().steps, batches_of(me.rank()));
                                       t.sync->finish();
                                     },
                                     "ssgd", {.uneven = true});
    const auto expected = by_hand(by_samples);
    for (const auto& w : ranks) {
      EXPECT_EQ(w, ranks[0]);
      for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], expected[i], 2e-5F);
    }
  }
}

TEST(Join, EveryStrategyEndsWithEqualWeightsAfterUnevenSteps) {
  for (const std::string& strategy : builtin_strategies().names()) {
    const auto ranks = weights_after(
        kRanks,
        [](Process& me, RankLoop& t) {
          for (int epoch = 0; epoch < 2; ++epoch) {
            t.steps(3 * me.rank(), 10 * epoch);  // none at all on rank 0
            t.sync->join();
          }
          t.steps(2 - me.rank(), 30);
          t.sync->finish();  // joins
        },
        strategy, {.uneven = true}, true);
    for (const auto& w : ranks) {
      EXPECT_EQ(w, ranks[0]) << strategy;
      for (const float x : w) ASSERT_TRUE(std::isfinite(x)) << strategy;
    }
    EXPECT_NE(ranks[0], weights_of(*fixed_net(true))) << strategy;
  }
}

TEST(Join, EvenStepsAreThoseOfARunWithoutIt) {
  for (const char* strategy : {"ssgd", "local:period=3", "compskip", "dc_s3gd", "ssd:warmup=2"}) {
    const auto run = [&](bool uneven) {
      return weights_after(kRanks,
                           [](Process&, RankLoop& t) {
                             t.steps(5);
                             t.sync->finish();
                           },
                           strategy, {.uneven = uneven});
    };
    EXPECT_EQ(run(true), run(false)) << strategy;
  }
}

TEST(Join, ThoseThatHaveJoinedTakePartInEvaluationsAndCountInNoFigure) {
  for (const char* strategy : {"ssgd", "local:period=4", "ssd:warmup=1"})
    World::threads(kRanks).run([&](Process& me) {
      RankLoop t(me, strategy, {.uneven = true});
      t.steps(1 + me.rank());
      if (me.rank() > 0) {
        if (me.rank() == 1) t.steps(1, 2);
        const auto point = t.sync->evaluation();
        EXPECT_EQ(t.sync->mean(me.rank()), 1.5);
        EXPECT_EQ(t.sync->sum(me.rank()), 3);
      }
      t.sync->join();
      t.sync->finish();
    });
}

TEST(Join, RanksThatDoDifferentThingsAreNamed) {
  expect_parts(refusal<Mismatch>([] {
                 World::threads(2).run([](Process& me) {
                   RankLoop t(me, "ssgd", {.uneven = true});
                   t.backward(0);
                   if (me.rank() == 0) return t.sync->step();
                   const auto point = t.sync->evaluation();
                 });
               }),
               {"rank 0 calls step() and rank 1 evaluation()"});
  expect_parts(refusal([] {
                 World::threads(2).run([](Process& me) {
                   RankLoop t(me, "ssgd", {.uneven = me.rank() == 0});
                   t.steps(1);
                 });
               }),
               {"Options::uneven is true on rank 0 and false on rank 1"});
}

TEST(Join, AScheduleThatRunsByBatchIsNoticed) {
  expect_parts(refusal<Mismatch>([] {
                 World::threads(2).run([](Process& me) {
                   RankLoop t(me, "ssgd", {.uneven = true});
                   ::torch::optim::StepLR schedule(t.optimizer, 1, 0.5);
                   for (int epoch = 0; epoch < 2; ++epoch) {
                     for (int step = 0; step < 1 + me.rank(); ++step) {
                       t.steps(1, step);
                       schedule.step();
                     }
                     t.sync->join();
                   }
                   t.sync->finish();
                 });
               }),
               {"learning rates that differ", "once per epoch, after join()"});
}

TEST(Join, WhatTheLoopDoesItselfBetweenExchangeAndOptimizerIsRefused) {
  const auto why = [](const Replicated::Options& options, void (*call)(Replicated&)) {
    return refusal<InvalidConfig>([&] {
      World::threads(2).run([&](Process& me) {
        RankLoop t(me, "ssgd", options);
        t.backward(0);
        call(*t.sync);
      });
    });
  };
  expect_parts(why({.uneven = true}, [](Replicated& s) { s.exchange(); }),
               {"exchange()", "Options::before_apply"});
  expect_parts(why({.uneven = true, .weights_may_change = true}, [](Replicated&) {}),
               {"Options::weights_may_change does not work with Options::uneven"});
  expect_parts(why({.uneven = true},
                   [](Replicated& s) {
                     s.accumulate();
                     s.join();
                   }),
               {"join() after accumulate() without a step"});
  expect_parts(why({},
                   [](Replicated& s) {
                     s.accumulate();
                     s.finish();
                   }),
               {"finish() after accumulate() without a step"});
}

TEST(Join, WantsTheOption) {
  expect_parts(refusal([] { World::threads(2).run([](Process& me) { RankLoop(me).sync->join(); }); }),
               {"join() without Options::uneven"});
}

}  // namespace
}  // namespace tacit::torch
