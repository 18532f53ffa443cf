// SPDX-License-Identifier: MIT
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "support/refusal.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr std::int64_t kTotal = 300;

double at(const std::string& spec, std::int64_t t, std::int64_t total = kTotal) {
  return make_schedule(spec)->factor(t, total);
}

std::string refusal(const std::string& spec) {
  return test::refusal([&] { make_schedule(spec); });
}

TEST(Schedules, ConstantIsOne) {
  for (const std::int64_t t : {0, 1, 299, 300, 1000}) EXPECT_EQ(at("constant", t), 1);
}

TEST(Schedules, WarmupRisesToOneAndStays) {
  EXPECT_EQ(at("warmup:steps=4", 0), 0.25);
  EXPECT_EQ(at("warmup:steps=4", 1), 0.5);
  EXPECT_EQ(at("warmup:steps=4", 3), 1);
  EXPECT_EQ(at("warmup:steps=4", 4), 1);
  EXPECT_EQ(at("warmup:steps=4", 299), 1);
  EXPECT_EQ(at("warmup:steps=0", 0), 1);
  for (std::int64_t t = 0; t < kTotal; ++t) EXPECT_EQ(at("warmup:steps=50", t), at("constant:warmup=50", t));
}

TEST(Schedules, StepDropsAtThirds) {
  EXPECT_EQ(at("step", 0), 1);
  EXPECT_EQ(at("step", 99), 1);
  EXPECT_DOUBLE_EQ(at("step", 100), 0.1);
  EXPECT_DOUBLE_EQ(at("step", 199), 0.1);
  EXPECT_DOUBLE_EQ(at("step", 200), 0.01);
  EXPECT_DOUBLE_EQ(at("step", 299), 0.01);
}

TEST(Schedules, StepDropsOnTimeForEveryDecimalShare) {
  for (int drop = 1; drop < 10; ++drop) {
    EXPECT_DOUBLE_EQ(at("step:every=0.1,gamma=0.5", drop * 30), std::pow(0.5, drop)) << drop;
    EXPECT_DOUBLE_EQ(at("step:every=0.1,gamma=0.5", drop * 30 - 1), std::pow(0.5, drop - 1)) << drop;
  }
}

TEST(Schedules, StepOverTheWholeRunNeverDropsInIt) { EXPECT_EQ(at("step:every=1", kTotal - 1), 1); }

TEST(Schedules, CosineEndpointsAndMiddle) {
  EXPECT_EQ(at("cosine", 0), 1);
  EXPECT_NEAR(at("cosine", 100), 0.75, 1e-12);
  EXPECT_NEAR(at("cosine", 150), 0.5, 1e-12);
  EXPECT_NEAR(at("cosine", 200), 0.25, 1e-12);
  EXPECT_NEAR(at("cosine", 300), 0, 1e-12);
  EXPECT_NEAR(at("cosine:floor=0.2", 150), 0.6, 1e-12);
  EXPECT_NEAR(at("cosine:floor=0.2", 300), 0.2, 1e-12);
}

TEST(Schedules, PolyEndpointsAndMiddle) {
  EXPECT_EQ(at("poly", 0), 1);
  EXPECT_NEAR(at("poly", 150), 0.25, 1e-12);
  EXPECT_EQ(at("poly", 300), 0);
  EXPECT_NEAR(at("poly:power=1", 75), 0.75, 1e-12);
  EXPECT_NEAR(at("poly:power=1,floor=0.5", 150), 0.75, 1e-12);
  EXPECT_EQ(at("poly:floor=0.5", 300), 0.5);
}

// After the warm-up, a schedule is itself over the steps that remain.
TEST(Schedules, FollowTheirCurveAfterTheWarmup) {
  for (const std::string name : {"constant", "step", "cosine", "poly"}) {
    for (std::int64_t t = 0; t < 30; ++t)
      EXPECT_DOUBLE_EQ(at(name + ":warmup=30", t), static_cast<double>(t + 1) / 30) << name;
    for (std::int64_t t = 30; t <= kTotal; ++t)
      EXPECT_DOUBLE_EQ(at(name + ":warmup=30", t), at(name, t - 30, kTotal - 30)) << name << t;
  }
}

class EverySchedule : public testing::TestWithParam<std::string> {};

TEST_P(EverySchedule, StaysInTheUnitInterval) {
  for (std::int64_t t = -1; t <= kTotal + 1; ++t) {
    EXPECT_GE(at(GetParam(), t), 0) << t;
    EXPECT_LE(at(GetParam(), t), 1) << t;
  }
}

TEST_P(EverySchedule, RisesDuringTheWarmupAndNeverAgain) {
  const std::int64_t peak = GetParam().find("20") == std::string::npos ? 0 : 19;
  const auto schedule = make_schedule(GetParam());
  EXPECT_EQ(schedule->factor(peak, kTotal), 1);
  for (std::int64_t t = 1; t <= peak; ++t)
    EXPECT_GT(schedule->factor(t, kTotal), schedule->factor(t - 1, kTotal)) << t;
  for (std::int64_t t = peak + 1; t <= kTotal; ++t)
    EXPECT_LE(schedule->factor(t, kTotal), schedule->factor(t - 1, kTotal)) << t;
}

TEST_P(EverySchedule, StaysPutOutsideOfTheRun) {
  constexpr auto kFar = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(at(GetParam(), kTotal + 1), at(GetParam(), kTotal));
  EXPECT_EQ(at(GetParam(), kFar), at(GetParam(), kTotal));
  EXPECT_EQ(at(GetParam(), -5), at(GetParam(), 0));
}

TEST_P(EverySchedule, CopesWithRunsShorterThanTheWarmup) {
  for (const std::int64_t total : {-1, 0, 1, 10, 19, 20, 21})
    for (std::int64_t t = 0; t <= total + 1; ++t) {
      EXPECT_GE(at(GetParam(), t, total), 0) << t << " of " << total;
      EXPECT_LE(at(GetParam(), t, total), 1) << t << " of " << total;
    }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EverySchedule,
                         testing::Values("constant", "constant:warmup=20", "warmup:steps=20", "step",
                                         "step:every=0.25,gamma=0.5,warmup=20", "cosine",
                                         "cosine:warmup=20,floor=0.1", "poly", "poly:power=0.5,warmup=20"));

TEST(Schedules, RampEvenIfTheRunEndsFirst) {
  EXPECT_EQ(at("cosine:warmup=20", 9, 10), 0.5);
  EXPECT_EQ(at("cosine:warmup=20", 19, 20), 1);
}

TEST(Schedules, AreListedOnceAndMadeByTheirNames) {
  std::set<std::string> names;
  for (const ScheduleInfo& info : builtin_schedules().all()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(make_schedule(info.name), nullptr);
  }
  EXPECT_EQ(names, (std::set<std::string>{"constant", "cosine", "poly", "step", "warmup"}));
}

TEST(Schedules, SuggestTheNearestName) {
  EXPECT_EQ(refusal("cosin"),
            "unknown schedule 'cosin'; did you mean 'cosine'? Known: constant, warmup, step, cosine, poly");
}

TEST(Schedules, SuggestTheNearestOption) {
  EXPECT_NE(refusal("cosine:flor=0.1").find("did you mean 'floor'?"), std::string::npos);
  EXPECT_NE(refusal("warmup:warmup=5").find("unknown option 'warmup'"), std::string::npos);
}

TEST(Schedules, RefuseOptionsOutOfBounds) {
  for (const char* spec : {"step:every=0", "step:every=1.5", "step:gamma=2", "cosine:floor=-1",
                           "poly:power=-1", "cosine:warmup=-1", "cosine:warmup=1.5", "warmup:steps=x", ""})
    EXPECT_THROW(make_schedule(spec), InvalidConfig) << spec;
}

}  // namespace
}  // namespace tacit
