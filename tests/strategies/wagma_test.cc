// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/few_numbers.h"
#include "support/plain_worker.h"
#include "support/refusal.h"
#include "support/simulate.h"
#include "support/survival.h"
#include "support/train.h"

namespace tacit::test {
namespace {

constexpr const char* kOnlyGroups = ",period=1000000";

// All begin at the same time, so that nobody has heard of the average before it comes to it.
void step_together(Process& me, FewNumbers& r, std::int64_t t) {
  me.control().barrier();
  r.step(t);
}

TEST(Wagma, WithoutLatenessAllHaveTheMeanAfterLogSteps) {
  NEEDS_SIMULATOR;
  struct Case {
    int ranks;
    int group;
    int steps;
  };
  for (const Case c : {Case{4, 2, 2}, {8, 2, 3}, {9, 3, 2}, {16, 4, 2}, {16, 2, 4}, {5, 5, 1}, {3, 2, 1}})
    simulate(cluster_of(c.ranks), [&](Process& me) {
      FewNumbers r(me, "wagma:group=" + std::to_string(c.group) + kOnlyGroups);
      for (std::int64_t t = 0; t < c.steps; ++t) step_together(me, r, t);
      EXPECT_NEAR(r.x(), static_cast<float>(c.ranks + 1) / 2, 1e-5) << c.ranks << " in groups of " << c.group;
      r.strategy->finish(r.worker);
    });
}

TEST(Wagma, GroupsKeepTheMeanAndComeTogetherForEveryNumberOfRanks) {
  NEEDS_SIMULATOR;
  for (const int ranks : {2, 3, 5, 6, 7, 11, 12})
    simulate(cluster_of(ranks), [&](Process& me) {
      FewNumbers r(me, std::string("wagma:") + (kOnlyGroups + 1));
      for (std::int64_t t = 0; t < 40; ++t) {
        step_together(me, r, t);
        EXPECT_NEAR(r.mean(), static_cast<float>(ranks + 1) / 2, 1e-4);
      }
      EXPECT_NEAR(r.x(), static_cast<float>(ranks + 1) / 2, 1e-3) << ranks;
      r.strategy->finish(r.worker);
    });
}

TEST(Wagma, InGroupsOfOneIsLocalSgd) {
  for (const int ranks : {1, 2, 4})
    EXPECT_EQ(train({.strategy = "wagma:group=1,period=4", .ranks = ranks}).params[0],
              train({.strategy = "local:period=4", .ranks = ranks}).params[0]);
}

TEST(Wagma, WithAGlobalMeanAtEveryStepIsLocalSgdOfPeriodOne) {
  EXPECT_EQ(train({.strategy = "wagma:period=1"}).params[0], train({.strategy = "local:period=1"}).params[0]);
}

TEST(Wagma, InOneGroupWithoutLatenessIsTheMeanOfAllWeightsAtEveryStep) {
  NEEDS_SIMULATOR;
  const auto hash = [](const char* spec) {
    return from_child([&] {
      World world = World::simulated(cluster_of(4), 1, without_limits());
      return train_in(world, {.strategy = spec}).summary.weights_hash;
    });
  };
  EXPECT_EQ(hash("wagma:group=4,period=1000"), hash("local:period=1"));
}

// Rank 1 comes a little late to the first average, which has already run with the start's weights of it.
TEST(Wagma, ALateRankKeepsItsStepWithTheWeightOfOneMore) {
  NEEDS_SIMULATOR;
  simulate(cluster_of(2), [](Process& me) {
    FewNumbers r(me, std::string("wagma:group=2,late=mean") + kOnlyGroups);
    if (me.rank() == 1) me.tasks().clock().sleep(Seconds(0.05));
    r.step(0);
    EXPECT_FLOAT_EQ(r.x(), me.rank() == 0 ? (1.0F + 0.0F) / 2 : (1.0F + 0.0F + 2.0F) / 3);
    r.strategy->finish(r.worker);
    EXPECT_FLOAT_EQ(r.x(), (0.5F + 1.0F) / 2);
  });
}

// Virtual time, not the machine's.
TEST(Wagma, NobodyWaitsForAStragglerBetweenGlobalMeans) {
  NEEDS_SIMULATOR;
  for (const double patience : {0.0, 0.25}) {
    constexpr int kRanks = 7;
    Cluster cluster = cluster_of(kRanks);
    cluster.stragglers.push_back({.ranks = {kRanks - 1}, .factor = 5});
    simulate(cluster, [&](Process& me) {
      FewNumbers r(me, "wagma:period=10,patience=" + std::to_string(patience));
      me.control().barrier();
      const Seconds start = me.tasks().clock().now();
      for (std::int64_t t = 0; t < 9; ++t) r.step(t);
      // 9 gradients of 10 ms, and per average the patience, the news and a few messages of 100 us.
      if (me.rank() != kRanks - 1) {
        EXPECT_LT((me.tasks().clock().now() - start).count(), 9 * (0.01 + patience * 0.01 + 0.002));
      }
      r.step(9);
      EXPECT_GT((me.tasks().clock().now() - start).count(), 0.499);
      r.strategy->finish(r.worker);
    });
  }
}

// Rank i comes i ms late, where a step takes 10 ms.
TEST(Wagma, PatienceLetsInWhoComesAMomentLaterAndEndsWhenAllHaveCome) {
  NEEDS_SIMULATOR;
  for (const bool patient : {true, false})
    simulate(cluster_of(4), [&](Process& me) {
      FewNumbers r(me,
                   std::string("wagma:group=4,late=mean,patience=") + (patient ? "0.9" : "0") + kOnlyGroups);
      me.control().barrier();
      const Seconds start = me.tasks().clock().now();
      me.tasks().clock().sleep(Seconds(0.001 * me.rank()));
      r.step(0);
      if (patient) {
        EXPECT_FLOAT_EQ(r.x(), (1.0F + 2.0F + 3.0F + 4.0F) / 4);
        EXPECT_LT((me.tasks().clock().now() - start).count(), 0.010 + 0.003 + 0.002);
      } else {
        EXPECT_FLOAT_EQ(r.x(), me.rank() == 0 ? 1.0F / 4 : (1.0F + static_cast<float>(me.rank() + 1)) / 5);
      }
      r.strategy->finish(r.worker);
    });
}

// Beside the models, so many group steps of 4 ranks send news: to three ranks at least, by each rank to two at most.
void expect_models_and_news(const std::string& spec, std::int64_t steps, std::size_t count,
                            std::uint64_t models, std::uint64_t group_steps) {
  const std::uint64_t sent = payload_sent(4, spec, steps, count);
  ASSERT_GE(sent, models) << spec;
  EXPECT_EQ((sent - models) % 32, 0U) << spec;
  EXPECT_GE((sent - models) / 32, 3 * group_steps) << spec;
  EXPECT_LE((sent - models) / 32, 4 * 2 * group_steps) << spec;
}

TEST(Wagma, SendsGroupSumsGlobalMeansAndNews) {
  NEEDS_SIMULATOR;
  constexpr std::uint64_t kModel = 4 * 1000;  // small: recursive doubling, log2 of whole models
  expect_models_and_news("wagma:group=2,period=1000,patience=0", 6, 1000, 6 * 4 * kModel, 6);
  expect_models_and_news("wagma:group=4,period=1000,patience=0", 6, 1000, 6 * 4 * 2 * kModel, 6);
  expect_models_and_news("wagma:group=2,period=3,patience=0", 6, 1000, 4 * 4 * kModel + 2 * 4 * 2 * kModel,
                         4);
  // Large ones are cut: 2 (S-1)/S of a model per rank.
  constexpr std::uint64_t kLarge = std::uint64_t{4} * 60000;
  expect_models_and_news("wagma:group=4,period=1000,patience=0", 2, 60000, 2 * 4 * (2 * kLarge * 3 / 4), 2);
  // With patience three tell the fourth that they have come, which tells all of them that all have.
  EXPECT_EQ(payload_sent(4, "wagma:group=2,period=1000", 6, 1000), 6 * (4 * kModel + 3 * 32 + 3 * 32));
}

// Rank 1 comes to the first average when rank 0 has had four. With late=mean these are 1/2, 1/4, 1/8 and 1/16, each
// with the start's weights of rank 1; with late=add rank 1 is in the later ones with what the first left: 1/2 each
// time.
TEST(Wagma, ARankThatIsLateByMoreThanOneTakesTheNewestOnceAndWaitsForNobody) {
  NEEDS_SIMULATOR;
  for (const bool add : {false, true})
    simulate(cluster_of(2), [&](Process& me) {
      FewNumbers r(me, std::string("wagma:group=2,patience=0,late=") + (add ? "add" : "mean") + kOnlyGroups);
      if (me.rank() == 1) me.tasks().clock().sleep(Seconds(0.2));
      const Seconds start = me.tasks().clock().now();
      r.step(0);
      const float taken = add ? 0.5F + 2 : (0.125F + 2) / 3;
      if (me.rank() == 1) {
        EXPECT_FLOAT_EQ(r.x(), taken);
      }
      for (std::int64_t t = 1; t < 4; ++t) r.step(t);
      if (me.rank() == 1) {
        EXPECT_FLOAT_EQ(r.x(), taken) << "an average was taken twice";
        EXPECT_NEAR((me.tasks().clock().now() - start).count(), 0.04, 1e-9);
      } else {
        EXPECT_FLOAT_EQ(r.x(), add ? 0.5F : 0.125F / 2);
      }
      r.strategy->finish(r.worker);
    });
}

// With stragglers of all kinds and gradients at every step: some ranks miss one average, some several, some none.
TEST(Wagma, TheMeanOfAllReplicasMovesByEveryStepOfEveryRankHoweverLate) {
  NEEDS_SIMULATOR;
  for (const char* spec :
       {"wagma:group=2,period=8", "wagma:group=3,period=8,patience=0", "wagma:period=8,patience=0"})
    for (const int ranks : {3, 4, 6, 8}) {
      Cluster cluster = cluster_of(ranks);
      cluster.jitter = 0.5;
      cluster.stragglers.push_back({.ranks = {ranks - 1}, .factor = 4});
      cluster.stragglers.push_back({.ranks = {1}, .factor = 2.5});
      simulate(cluster, [&](Process& me) {
        FewNumbers r(me, spec);
        float own = 0;  // what this rank's steps moved it by
        for (std::int64_t t = 0; t < 24; ++t) {
          Rng rng(1, me.rank(), t, Rng::Use::kMinibatch);
          for (float& g : r.worker.gradient().host()) g = rng.normal();
          own -= r.worker.gradient().host()[1];
          r.step(t);
          if ((t + 1) % 8 != 0) continue;
          me.control().sum(std::span(&own, 1));
          EXPECT_NEAR(r.x(), own / static_cast<float>(ranks), 2e-5) << spec << ", step " << t;
          own = me.rank() == 0 ? own : 0;
        }
        r.strategy->finish(r.worker);
      });
    }
}

TEST(Wagma, GoesOnWheneverARankCrashes) {
  NEEDS_SIMULATOR;
  for (const char* spec : {"wagma:period=3", "wagma:group=4,late=mean", "wagma:late=mean,patience=0"})
    expect_survival(spec);
}

TEST(Wagma, AResumedRunGivesTheSameBits) {
  NEEDS_SIMULATOR;
  for (const char* spec :
       {"wagma:group=2,period=4", "wagma:group=3,period=100", "wagma:late=mean,patience=0"})
    expect_resume(cluster_of(5), spec);
}

TEST(Wagma, LearnsForEveryGroupSize) {
  for (const char* spec : {"wagma:group=2", "wagma:group=3,period=5", "wagma:group=8,period=20"}) {
    const Trained run = train({.strategy = spec, .ranks = 8, .steps = 40, .global_batch = 120});
    EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss) << spec;
    EXPECT_GT(*run.summary.accuracy, 0.8) << spec;
  }
}

TEST(Wagma, RefusesAGroupLargerThanTheWorldAndSenselessNumbers) {
  const auto made = [](const std::string& spec, int ranks) {
    return refusal([&] { make_strategy(builtin_strategies(), spec, ranks); });
  };
  EXPECT_NE(made("wagma:group=5", 4).find("give 1 to 4"), std::string::npos);
  EXPECT_NE(made("wagma:group=2", 1).find("1 worker"), std::string::npos);
  EXPECT_NE(made("wagma:group=0", 4).find("group"), std::string::npos);
  EXPECT_NE(made("wagma:late=never", 4).find("add"), std::string::npos);
  EXPECT_NE(made("wagma:patience=2", 4).find("patience"), std::string::npos);
  EXPECT_NE(made("wagma:period=0", 4).find("period"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
