// SPDX-License-Identifier: MIT
// Whatever goes wrong, and when: the laws of sim/verdict.h. `fault_schedules FIRST LAST` runs more of them.
#include <gtest/gtest.h>

#include "faults/schedule.h"

namespace tacit::test {
namespace {

void expect_lawful(const FaultCase& schedule) {
  for (const std::string& each : run_in_child(schedule).violations)
    ADD_FAILURE() << describe(schedule) << "\n" << each;
}

void expect_lawful(std::uint64_t seed) { expect_lawful(draw_schedule(seed)); }

// In hundreds, so that CTest can run several at once.
class FaultSchedules : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(FaultSchedules, KeepTheLaws) {
  for (std::uint64_t seed = 100 * GetParam(); seed < 100 * (GetParam() + 1); ++seed) expect_lawful(seed);
}
TEST_P(FaultSchedules, KeepTheLawsWhereTheLostKeptShards) {
  for (std::uint64_t seed = 50 * GetParam(); seed < 50 * (GetParam() + 1); ++seed)
    expect_lawful(draw_server_schedule(seed));
}
INSTANTIATE_TEST_SUITE_P(Hundreds, FaultSchedules, ::testing::Range(std::uint64_t{0}, std::uint64_t{4}));

TEST(FaultSchedule, GivesTheSameTraceAgain) {
  for (const std::uint64_t seed : {3, 5, 8}) {
    const ScheduleOutcome first = run_in_child(draw_schedule(seed));
    EXPECT_EQ(first.trace_hash.size(), 16U);
    EXPECT_EQ(first.trace_hash, run_in_child(draw_schedule(seed)).trace_hash) << seed;
  }
}

// Seeds that found something.
TEST(FaultSchedule, OfARankThatIsStoppedForGoodWithAnAlarmSetEnds) { expect_lawful(28); }
TEST(FaultSchedule, WithMessagesUnderWayToARankThatGaveTheirSenderUpEnds) {
  for (const std::uint64_t seed : {158, 286, 497}) expect_lawful(seed);
}
TEST(FaultSchedule, WithACrashWhoseLastMessagesAreLateIsNoSilence) { expect_lawful(993); }
TEST(FaultSchedule, WithACrashSoonAfterAShortStopIsNoSilence) {
  for (const std::uint64_t seed : {1556, 26576}) expect_lawful(seed);
}
TEST(FaultSchedule, WhereACrashEndsTheRunWhileOthersAreStoppedLeavesTooFewForAMajority) {
  expect_lawful(4010);
}
// The last actor that runs ends a rank that is stopped for good, which wakes an agent: it must not run in between.
TEST(FaultSchedule, WhereARankThatEndsEndsAStoppedOneWakesNobodyTooEarly) {
  expect_lawful(draw_server_schedule(162));
}
// Each of two ranks was head to some of the others.
TEST(FaultSchedule, WithTwoHeadsOfACollectiveTellsBothWhatTheyAskedFor) {
  for (const std::uint64_t words : {448, 482, 5049}) {
    FaultCase schedule = draw_schedule(22318);
    slow_down_words(words, schedule);
    expect_lawful(schedule);
  }
}

}  // namespace
}  // namespace tacit::test
