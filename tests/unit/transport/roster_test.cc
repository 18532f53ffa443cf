// SPDX-License-Identifier: MIT
// The rules of leaving and waiting that all transports share, without a transport.
#include "transport/roster.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr Tag kPlain(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
constexpr Tag kCollective(Tag::Channel::kAllReduce, Tag::Lane::kTrain, 1);
const Departure kDone{false, "its program ended"};
constexpr int kNobody = kAnyRank;

// What rank 0 of three waits for after some have left in this order, and what becomes of that.
struct RosterCase {
  std::string name;
  std::vector<int> done;
  std::vector<int> failed;
  bool survives;
  int peer;
  Tag tag;
  bool over;    // whatever comes
  int missing;  // and who has left, so that nothing more comes
};
void PrintTo(const RosterCase& c, std::ostream* os) { *os << c.name; }

class RosterRule : public ::testing::TestWithParam<RosterCase> {};

TEST_P(RosterRule, SaysWhetherAWaitIsInVainAndWhoIsMissing) {
  const RosterCase& c = GetParam();
  Roster roster(3);
  if (c.survives) roster.survive(0);
  for (const int rank : c.done) EXPECT_TRUE(roster.mark(rank, kDone));
  for (const int rank : c.failed) EXPECT_TRUE(roster.mark(rank, {true, "its disk burned"}));
  const MessageWait wait{0, c.peer, c.tag};
  EXPECT_EQ(roster.over(wait), c.over);
  EXPECT_EQ(roster.missing(wait), c.missing);
  EXPECT_EQ(roster.hopeless(wait), c.over || c.missing != kNobody);
  if (roster.hopeless(wait)) {
    EXPECT_THROW(roster.give_up(wait), PeerLost);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Roster, RosterRule,
    ::testing::Values(
        // done, failed, survives, peer, tag, over, missing
        RosterCase{"AllAreHere", {}, {}, false, 1, kPlain, false, kNobody},
        RosterCase{"AllAreHereForAny", {}, {}, false, kAnyRank, kPlain, false, kNobody},
        RosterCase{"ThePeerIsDone", {1}, {}, false, 1, kPlain, false, 1},
        RosterCase{"ThePeerFailed", {}, {1}, false, 1, kPlain, false, 1},
        RosterCase{"AnotherIsDone", {2}, {}, false, 1, kPlain, false, kNobody},
        RosterCase{"AnotherFailed", {}, {2}, false, 1, kPlain, false, kNobody},
        RosterCase{"AnotherFailedInACollective", {}, {2}, false, 1, kCollective, false, kNobody},
        RosterCase{"OneIsDoneForAny", {2}, {}, false, kAnyRank, kPlain, false, kNobody},
        RosterCase{"OneFailedForAny", {}, {2}, false, kAnyRank, kPlain, false, 2},
        RosterCase{"TheLastThatFailedForAny", {}, {2, 1}, false, kAnyRank, kPlain, false, 1},
        RosterCase{"ItselfFailed", {}, {0}, false, 1, kPlain, true, kNobody},
        RosterCase{"ItselfFailedForAny", {}, {0}, false, kAnyRank, kPlain, true, 0},
        RosterCase{"ItselfIsDone", {0}, {}, false, 1, kPlain, false, kNobody},
        RosterCase{"SurvivesAndThePeerFailed", {}, {1}, true, 1, kPlain, false, 1},
        RosterCase{"SurvivesAndAnotherFailed", {}, {2}, true, 1, kPlain, false, kNobody},
        RosterCase{"SurvivesAndAnotherFailedInACollective", {}, {2}, true, 1, kCollective, true, kNobody},
        RosterCase{"SurvivesAndThePeerFailedInACollective", {}, {1}, true, 1, kCollective, true, 1},
        RosterCase{"SurvivesAndAnotherIsDoneInACollective", {2}, {}, true, 1, kCollective, false, kNobody},
        RosterCase{"SurvivesAndThePeerIsDoneInACollective", {1}, {}, true, 1, kCollective, false, 1},
        RosterCase{"SurvivesAndOneFailedForAny", {}, {2}, true, kAnyRank, kPlain, false, kNobody},
        RosterCase{"SurvivesAndItselfFailed", {}, {0}, true, 1, kPlain, true, kNobody},
        RosterCase{"SurvivesAndItselfFailedForAny", {}, {0}, true, kAnyRank, kPlain, true, kNobody}),
    [](const auto& each) { return each.param.name; });

std::string lost(const Roster& roster, const MessageWait& wait, const std::string& more = "") {
  try {
    roster.give_up(wait, more);
  } catch (const PeerLost& error) {
    return error.what();
  }
}

TEST(Roster, ALossIsPutDownToWhoeverLeft) {
  Roster roster(4);
  roster.mark(1, kDone);
  roster.mark(2, {true, "its disk burned"});
  EXPECT_EQ(lost(roster, {0, 1, kPlain}),
            "rank 0 lost rank 1: its program ended (rank 0 waits for rank 1 in exchange 1, part 0)");
  EXPECT_EQ(lost(roster, {0, kAnyRank, kPlain}, ", for 3 s"),
            "rank 0 lost rank 2: its disk burned (rank 0 waits for any rank in exchange 1, part 0, for 3 s)");
  roster.survive(0);  // the peer may have left because of the loss
  EXPECT_EQ(lost(roster, {0, 3, kCollective}),
            "rank 0 lost rank 2: its disk burned (rank 0 waits for rank 3 in all-reduce 1, part 0)");
  roster.mark(0, {true, "nobody hears it"});
  EXPECT_EQ(lost(roster, {0, 1, kPlain}),
            "rank 0 is lost to the others: nobody hears it (rank 0 waits for rank 1 in exchange 1, part 0)");
}

TEST(Roster, TheFirstReasonThatIsKnownIsTheTrueOne) {
  Roster roster(3);
  EXPECT_TRUE(roster.mark(1, {true, ""}));  // it unwinds an error that nobody has said yet
  EXPECT_EQ(lost(roster, {0, 1, kPlain}),
            "rank 0 lost rank 1: it is failing (rank 0 waits for rank 1 in exchange 1, part 0)");
  EXPECT_FALSE(roster.mark(1, {false, "its disk burned"}));
  EXPECT_FALSE(roster.mark(1, {true, "it was tired"}));
  EXPECT_TRUE(roster.failed(1));
  ASSERT_EQ(roster.losses().size(), 1U);
  EXPECT_EQ(roster.losses()[0].why, "its disk burned");
}

TEST(Roster, LossesAreInTheOrderOfTheRanksAndDoneRanksAreNone) {
  Roster roster(4);
  EXPECT_TRUE(roster.losses().empty());
  for (const int rank : {3, 1}) roster.mark(rank, {true, "it failed"});
  roster.mark(2, kDone);
  std::vector<int> ranks;
  for (const Loss& each : roster.losses()) ranks.push_back(each.rank);
  EXPECT_EQ(ranks, (std::vector<int>{1, 3}));
  EXPECT_TRUE(roster.here(0));
  EXPECT_FALSE(roster.here(2));
}

TEST(Roster, DeparturesAreToldOnceToEachWhoAskedBeforeOrAfter) {
  std::vector<std::string> told;
  Roster roster(3, [&](int gone, int to, Tag tag) {
    told.push_back(std::to_string(gone) + " to " + std::to_string(to) + " in " + tag.text());
  });
  roster.tell_departures(0, kPlain);
  roster.mark(2, {true, "its disk burned"});
  roster.mark(2, kDone);
  EXPECT_EQ(told, (std::vector<std::string>{"2 to 0 in exchange 1, part 0"}));
  roster.mark(1, kDone);
  told.clear();
  roster.tell_departures(1, kCollective);
  EXPECT_EQ(told,
            (std::vector<std::string>{"2 to 1 in all-reduce 1, part 0", "1 to 1 in all-reduce 1, part 0"}));
}

TEST(Roster, TheFirstErrorOfARankThatIsHereIsItsCause) {
  Roster roster(2);
  const auto first = std::make_exception_ptr(Mismatch("on purpose"));
  EXPECT_EQ(roster.cause(0), nullptr);
  EXPECT_TRUE(roster.blame(0, first));
  EXPECT_TRUE(roster.blame(0, std::make_exception_ptr(Mismatch("again"))));
  EXPECT_EQ(roster.cause(0), first);
  roster.mark(1, {true, ""});
  EXPECT_FALSE(roster.blame(1, first));  // what a failed rank does to its own tasks
  EXPECT_EQ(roster.cause(1), nullptr);
}

TEST(Roster, WhoEndsBecauseOfALossNamesWhoFailedFirst) {
  Roster roster(4);
  EXPECT_FALSE(roster.consequence(0).has_value());
  roster.mark(2, {true, "its disk burned"});
  ASSERT_TRUE(roster.consequence(0).has_value());
  EXPECT_EQ(roster.consequence(0)->culprit, 2);
  EXPECT_EQ(roster.consequence(0)->why, "its disk burned");
  roster.mark(3, {true, "rank 3 lost rank 2", 2});
  EXPECT_EQ(roster.consequence(0)->culprit, 2);
  roster.survive(0);
  EXPECT_FALSE(roster.consequence(0).has_value());  // it needs nobody
}

TEST(Roster, AnInterruptEndsEveryWait) {
  Roster roster(2);
  const MessageWait wait{0, 1, kPlain};
  EXPECT_FALSE(roster.parted(0, 1));
  roster.interrupt();
  EXPECT_TRUE(roster.over(wait));
  EXPECT_TRUE(roster.parted(0, 1));
  EXPECT_THROW(roster.give_up(wait), Interrupted);
}

TEST(Roster, WhoLentMemoryWaitsForItsPeerWhateverHappensToOthers) {
  Roster roster(3);
  roster.survive(0);
  roster.mark(2, {true, "its disk burned"});
  EXPECT_FALSE(roster.parted(0, 1));
  EXPECT_TRUE(roster.parted(0, 2));
  EXPECT_TRUE(roster.parted(2, 1));
}

}  // namespace
}  // namespace tacit::test
