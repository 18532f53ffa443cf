// SPDX-License-Identifier: MIT
#include "schedules/stream_schedule.h"

#include <gtest/gtest.h>

namespace tacit::test {
namespace {

TEST(StreamSchedules, KeepTheLawsWhateverTheSeed) {
  ScheduleResult all;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const ScheduleResult one = run_stream_schedule(seed);
    ASSERT_EQ(one.broken, "") << "seed " << seed;
    all.messages += one.messages;
    all.offers += one.offers;
    all.key_updates += one.key_updates;
    all.cuts += one.cuts;
    all.rings += one.rings;
  }
  // Else the seeds show nothing.
  EXPECT_GT(all.messages, 1000U);
  EXPECT_GT(all.offers, 100U);
  EXPECT_GT(all.key_updates, 100U);
  EXPECT_GT(all.cuts, 10U);
  EXPECT_GT(all.rings, 100U);
}

// Seeds that found something, or that find it again where its mending is taken out.

TEST(StreamSchedules, Seed14CountsNoFramingBelowZeroWhereMessagesShareARecord) {
  EXPECT_EQ(run_stream_schedule(14).broken, "");
}

TEST(StreamSchedules, Seed52CountsTheCopyOfASendThatWasDroppedUnderWay) {
  EXPECT_EQ(run_stream_schedule(52).broken, "");
}

TEST(StreamSchedules, Seed864ReadsOnWhatTlsHoldsAfterOneLookHasTakenEnough) {
  EXPECT_EQ(run_stream_schedule(864).broken, "");
}

TEST(StreamSchedules, Seed9033ReadsOnWhatTlsHoldsWhenTheCallerHasItsOwn) {
  EXPECT_EQ(run_stream_schedule(9033).broken, "");
}

TEST(StreamSchedules, Seed8482DoesNotTakeMemoryThatIsUsedAgainForTheMessageThatWasOffered) {
  EXPECT_EQ(run_stream_schedule(8482).broken, "");
}

TEST(StreamSchedules, Seed4915WaitsForTheWireWhereABellDoesNotFitAfterRoomWasAwaited) {
  EXPECT_EQ(run_stream_schedule(4915).broken, "");
}

TEST(StreamSchedules, Seed18565WritesAfterALookThatTookInTheWritersBell) {
  EXPECT_EQ(run_stream_schedule(18565).broken, "");
}

TEST(StreamSchedules, OneSeedIsOneSchedule) {
  for (const std::uint64_t seed : {14U, 864U})
    EXPECT_EQ(run_stream_schedule(seed).events, run_stream_schedule(seed).events);
}

}  // namespace
}  // namespace tacit::test
