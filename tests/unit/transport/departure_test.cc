// SPDX-License-Identifier: MIT
#include "transport/departure.h"

#include <gtest/gtest.h>

namespace tacit::test {
namespace {

TEST(Departure, ARankThatLostAnotherNamesIt) {
  const Departure own = failure(std::make_exception_ptr(Mismatch("two sizes")));
  EXPECT_TRUE(own.failed);
  EXPECT_EQ(own.why, "two sizes");
  EXPECT_EQ(own.culprit, kAnyRank);
  const Departure echo = failure(std::make_exception_ptr(PeerLost(1, 2, "its disk burned")));
  EXPECT_TRUE(echo.failed);
  EXPECT_EQ(echo.culprit, 2);
  EXPECT_TRUE(failure(nullptr).failed);
}

TEST(Departure, ALossIsThatOfTheCulpritAndNotOfTheMessenger) {
  const PeerLost plain = loss(0, 1, {true, "its disk burned"}, "rank 0 waits");
  EXPECT_EQ(plain.rank, 0);
  EXPECT_EQ(plain.peer, 1);
  EXPECT_STREQ(plain.what(), "rank 0 lost rank 1: its disk burned (rank 0 waits)");
  const PeerLost told = loss(0, 1, {true, "rank 1 lost rank 2", 2}, "rank 0 waits");
  EXPECT_EQ(told.peer, 2);
  EXPECT_STREQ(told.what(), "rank 0 lost rank 2: so says rank 1: rank 1 lost rank 2 (rank 0 waits)");
  // Of one that ended because it had lost us, we are the culprit.
  const PeerLost ours = loss(0, 1, {true, "rank 1 lost rank 0", 0}, "rank 0 waits");
  EXPECT_EQ(ours.peer, 0);
  EXPECT_STREQ(ours.what(),
               "rank 0 is lost to the others: so says rank 1: rank 1 lost rank 0 (rank 0 waits)");
}

}  // namespace
}  // namespace tacit::test
