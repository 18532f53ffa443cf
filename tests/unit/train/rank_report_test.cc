// SPDX-License-Identifier: MIT
#include "tacit/train/rank_report.h"

#include <gtest/gtest.h>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

RankReport full(int rank) {
  RankReport report;
  report.rank = rank;
  report.finished = true;
  report.steps = 100 + rank;
  report.seconds = 1.5 * rank;
  report.recent_loss = 0.25 * rank;
  report.first_loss = 2.5 * rank;
  report.late_loss = 0.125 * rank;
  report.evaluation = Evaluated{7, 0.5, 0.75, 0.875, 2.0 + rank};
  report.sent = {11, 1U << 20U, 33};
  report.spent = TimeSpent{0.5 + rank, 0.25};
  report.weights_hash = 0xFEDCBA9876543210ULL;
  return report;
}

void expect_equal(const RankReport& a, const RankReport& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.recent_loss, b.recent_loss);
  EXPECT_EQ(a.first_loss, b.first_loss);
  EXPECT_EQ(a.late_loss, b.late_loss);
  ASSERT_EQ(a.evaluation.has_value(), b.evaluation.has_value());
  if (a.evaluation) {
    EXPECT_EQ(a.evaluation->step, b.evaluation->step);
    EXPECT_EQ(a.evaluation->epoch, b.evaluation->epoch);
    EXPECT_EQ(a.evaluation->loss, b.evaluation->loss);
    EXPECT_EQ(a.evaluation->accuracy, b.evaluation->accuracy);
    EXPECT_EQ(a.evaluation->seconds, b.evaluation->seconds);
  }
  EXPECT_EQ(a.sent, b.sent);
  ASSERT_EQ(a.spent.has_value(), b.spent.has_value());
  if (a.spent) {
    EXPECT_EQ(a.spent->compute, b.spent->compute);
    EXPECT_EQ(a.spent->communicate, b.spent->communicate);
  }
  EXPECT_EQ(a.weights_hash, b.weights_hash);
}

TEST(RankReport, SurvivesPacking) {
  expect_equal(unpack(pack(full(3))), full(3));
  expect_equal(unpack(pack(RankReport{})), RankReport{});
}

TEST(RankReport, HasOneLengthWhateverItHolds) {
  EXPECT_EQ(pack(full(3)).size(), pack(RankReport{}).size());
  EXPECT_THROW(unpack(ConstBytes(pack(full(1))).first(8)), Mismatch);
}

TEST(RankReport, AllReachEveryRankInTheirOrder) {
  for (const int ranks : {1, 2, 5})
    on_every_comm(ranks, [&](Comm& comm) {
      const std::vector<RankReport> all = gather_reports(comm, full(comm.rank()));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        expect_equal(all[rank], full(static_cast<int>(rank)));
    });
}

}  // namespace
}  // namespace tacit::test
