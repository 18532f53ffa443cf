// SPDX-License-Identifier: MIT
#include "cli/launch/restarts.h"

#include <gtest/gtest.h>

namespace tacit::cli {
namespace {

using std::chrono::seconds;
using Fate = Restarts::Fate;
using Others = Restarts::Others;

constexpr Restarts::Time kStart{};
const Ending kCutOff = Ending::exited(3);

class Comebacks : public ::testing::Test {
 protected:
  // The rank that is started at this time; -1 if none is.
  int started(Restarts::Time now = kStart) {
    const auto start = restarts_.next(Others::kTakeIn, now);
    return start ? start->rank : -1;
  }
  Fate lose(int rank, Others others = Others::kTakeIn) { return restarts_.lost(rank, others, kStart); }

  Restarts restarts_{5};
};

TEST_F(Comebacks, ALostRankIsStartedAtOnceAndNumbersGrow) {
  EXPECT_EQ(lose(2), Fate::kNow);
  EXPECT_EQ(restarts_.after_loss(Fate::kNow),
            "; the others go on without it, and it is started again (1 of 5)");
  const auto first = restarts_.next(Others::kTakeIn, kStart);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 2);
  EXPECT_EQ(first->number, 1);
  EXPECT_TRUE(first->said);
  EXPECT_TRUE(restarts_.returning(2));
  EXPECT_TRUE(restarts_.back(2));
  EXPECT_FALSE(restarts_.back(2));
  EXPECT_EQ(lose(2), Fate::kNow);
  EXPECT_EQ(restarts_.next(Others::kTakeIn, kStart)->number, 2);
}

TEST_F(Comebacks, RanksAreStartedOneAtATimeInTheOrderOfTheirLosses) {
  EXPECT_EQ(lose(3), Fate::kNow);
  EXPECT_EQ(lose(1), Fate::kLater);
  EXPECT_EQ(started(), 3);
  EXPECT_EQ(lose(0), Fate::kLater);
  EXPECT_EQ(started(), -1);
  EXPECT_FALSE(restarts_.back(1));
  EXPECT_TRUE(restarts_.back(3));
  const auto second = restarts_.next(Others::kTakeIn, kStart);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->rank, 1);
  EXPECT_FALSE(second->said);
  EXPECT_TRUE(restarts_.back(1));
  EXPECT_EQ(started(), 0);
}

TEST_F(Comebacks, WhoWaitsHasItsRestartForSure) {
  for (const int rank : {0, 1, 2, 3}) lose(rank);
  EXPECT_EQ(started(), 0);
  EXPECT_EQ(lose(4), Fate::kLater);
  EXPECT_EQ(lose(5), Fate::kUsedUp);
  EXPECT_EQ(restarts_.failed(0, kCutOff, Others::kTakeIn, kStart), Fate::kUsedUp);
  EXPECT_EQ(restarts_.after_loss(Fate::kUsedUp), "; the others go on without it (--restart 5 is used up)");
  for (const int rank : {1, 2, 3, 4}) {
    EXPECT_EQ(started(kStart + seconds(1)), rank);
    EXPECT_TRUE(restarts_.back(rank));
  }
  EXPECT_FALSE(restarts_.waits());
}

TEST_F(Comebacks, PausesDoubleUpToHalfAMinuteAndAreForgottenAfterASuccess) {
  Restarts restarts(100);
  Restarts::Time now = kStart;
  restarts.lost(1, Others::kTakeIn, now);
  for (const int pause : {1, 2, 4, 8, 16, 30, 30}) {
    ASSERT_TRUE(restarts.next(Others::kTakeIn, now));
    EXPECT_EQ(restarts.failed(1, kCutOff, Others::kTakeIn, now), Fate::kLater);
    EXPECT_EQ(restarts.not_before(), now + seconds(pause));
    EXPECT_FALSE(restarts.next(Others::kTakeIn, now + seconds(pause) - std::chrono::milliseconds(1)));
    now += seconds(pause);
  }
  ASSERT_TRUE(restarts.next(Others::kTakeIn, now));
  EXPECT_TRUE(restarts.back(1));
  EXPECT_EQ(restarts.lost(1, Others::kTakeIn, now), Fate::kNow);
  ASSERT_TRUE(restarts.next(Others::kTakeIn, now));
  restarts.failed(1, kCutOff, Others::kTakeIn, now);
  EXPECT_EQ(restarts.not_before(), now + seconds(1));
}

TEST_F(Comebacks, APauseIsForAllThatWait) {
  lose(1);
  lose(2);
  EXPECT_EQ(started(), 1);
  EXPECT_EQ(restarts_.failed(1, kCutOff, Others::kTakeIn, kStart), Fate::kLater);
  EXPECT_EQ(lose(3), Fate::kLater);
  EXPECT_EQ(started(), -1);
  EXPECT_EQ(started(kStart + seconds(1)), 2);
}

TEST_F(Comebacks, OnlyALossIsTriedAgain) {
  const std::vector<std::pair<Ending, Fate>> cases{
      {Ending::exited(3), Fate::kLater},  {Ending::killed(9), Fate::kLater},
      {Ending::lost("x"), Fate::kLater},  {Ending::not_started("x"), Fate::kLater},
      {Ending::exited(2), Fate::kNoLoss}, {Ending::exited(0), Fate::kNoLoss},
  };
  for (const auto& [how, fate] : cases) {
    Restarts restarts(5);
    restarts.lost(1, Others::kTakeIn, kStart);
    ASSERT_TRUE(restarts.next(Others::kTakeIn, kStart));
    EXPECT_EQ(restarts.failed(1, how, Others::kTakeIn, kStart), fate) << describe("it", how);
    EXPECT_EQ(restarts.waits(), fate == Fate::kLater);
    EXPECT_FALSE(restarts.returning(1));
  }
}

TEST_F(Comebacks, NobodyIsStartedWhereNobodyTakesItIn) {
  EXPECT_EQ(lose(1, Others::kTakeNone), Fate::kNotTakenIn);
  EXPECT_EQ(lose(1, Others::kFinishing), Fate::kTooLate);
  EXPECT_EQ(lose(1, Others::kEnding), Fate::kOff);
  EXPECT_FALSE(restarts_.waits());
  EXPECT_EQ(Restarts(0).lost(1, Others::kTakeIn, kStart), Fate::kOff);
  EXPECT_EQ(restarts_.after_loss(Fate::kOff), "; the others go on without it");
}

TEST_F(Comebacks, ARankWaitsUntilTheOthersHaveSaidWhetherTheyTakeItIn) {
  EXPECT_EQ(lose(1, Others::kUnknown), Fate::kLater);
  EXPECT_FALSE(restarts_.next(Others::kUnknown, kStart));
  EXPECT_TRUE(restarts_.drop(Others::kUnknown).empty());
  EXPECT_EQ(started(), 1);
}

TEST_F(Comebacks, WhoWaitsIsDroppedWhenTheRunEnds) {
  lose(1);
  lose(2);
  EXPECT_TRUE(restarts_.drop(Others::kTakeIn).empty());
  EXPECT_EQ(restarts_.drop(Others::kFinishing), (std::vector<int>{1, 2}));
  EXPECT_EQ(started(), -1);
  EXPECT_EQ(Restarts::describe_drop(Others::kFinishing),
            "is not started again, because the run is at its end");
  EXPECT_EQ(Restarts::describe_drop(Others::kTakeNone),
            "is not started again, because the ranks take nobody in");
}

}  // namespace
}  // namespace tacit::cli
