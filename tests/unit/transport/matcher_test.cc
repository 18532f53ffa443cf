// SPDX-License-Identifier: MIT
// Which message goes to which receive, without a transport.
#include "transport/matcher.h"

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr Tag kTag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
constexpr Tag kOther(Tag::Channel::kExchange, Tag::Lane::kTrain, 2);

struct TestParcel {
  int from;
  Tag tag;
  int number;
};

struct TestReceive {
  Want wanted;
  int number;
  const Want& want() const { return wanted; }
};

using TestMatcher = Matcher<TestParcel, TestReceive>;

// One thing that happens, in order. What it meets is said by number: "3-1" is the third event's receive or message with
// the first event's.
struct Event {
  enum class Kind { kMessage, kReceive, kCancel };
  Kind kind;
  int peer;  // of kCancel: the event it cancels, from 1
  Tag tag = kTag;
};
constexpr auto kMessage = Event::Kind::kMessage;
constexpr auto kReceive = Event::Kind::kReceive;
constexpr auto kCancel = Event::Kind::kCancel;

struct MatcherCase {
  std::string name;
  std::vector<Event> events;
  std::vector<std::string> meetings;
};
void PrintTo(const MatcherCase& c, std::ostream* os) { *os << c.name; }

class MatcherRule : public ::testing::TestWithParam<MatcherCase> {};

TEST_P(MatcherRule, PairsMessagesWithReceivesInOrder) {
  TestMatcher matcher;
  std::vector<std::unique_ptr<TestReceive>> receives;
  std::vector<std::string> meetings;
  int number = 0;
  for (const Event& event : GetParam().events) {
    ++number;
    const auto meet = [&](int earlier) {
      meetings.push_back(std::to_string(number) + "-" + std::to_string(earlier));
    };
    if (event.kind == kMessage) {
      if (TestReceive* receive = matcher.first_receive(event.peer, event.tag)) {
        EXPECT_TRUE(matcher.withdraw(*receive));
        meet(receive->number);
      } else {
        matcher.hold(std::make_shared<TestParcel>(TestParcel{event.peer, event.tag, number}));
      }
    } else if (event.kind == kReceive) {
      receives.push_back(
          std::make_unique<TestReceive>(TestReceive{{event.peer, event.tag, {}, false}, number}));
      if (const auto message = matcher.take_or_post(*receives.back())) meet(message->number);
    } else {
      matcher.take([&](const auto& m) { return m->number == event.peer; });
      for (const auto& each : receives)
        if (each->number == event.peer) matcher.withdraw(*each);
    }
  }
  EXPECT_EQ(meetings, GetParam().meetings);
}

INSTANTIATE_TEST_SUITE_P(
    Matcher, MatcherRule,
    ::testing::Values(
        MatcherCase{"AReceiveGetsWhatCame", {{kMessage, 1}, {kReceive, 1}}, {"2-1"}},
        MatcherCase{"AMessageFindsWhoAsked", {{kReceive, 1}, {kMessage, 1}}, {"2-1"}},
        MatcherCase{"EachOnce",
                    {{kMessage, 1}, {kReceive, 1}, {kReceive, 1}, {kMessage, 1}, {kMessage, 1}},
                    {"2-1", "4-3"}},
        MatcherCase{"MessagesInTheOrderInWhichTheyCame",
                    {{kMessage, 1}, {kMessage, 1}, {kReceive, 1}, {kReceive, 1}},
                    {"3-1", "4-2"}},
        MatcherCase{"ReceivesInTheOrderInWhichTheyAsked",
                    {{kReceive, 1}, {kReceive, 1}, {kMessage, 1}, {kMessage, 1}},
                    {"3-1", "4-2"}},
        MatcherCase{
            "PeersApart", {{kMessage, 1}, {kReceive, 2}, {kMessage, 2}, {kReceive, 1}}, {"3-2", "4-1"}},
        MatcherCase{"TagsApart",
                    {{kMessage, 1, kOther}, {kReceive, 1}, {kReceive, 1, kOther}, {kMessage, 1}},
                    {"3-1", "4-2"}},
        MatcherCase{
            "AnyRankGetsTheFirstThatCame", {{kMessage, 2}, {kMessage, 1}, {kReceive, kAnyRank}}, {"3-1"}},
        MatcherCase{
            "AnyRankOfItsTagAlone", {{kMessage, 2, kOther}, {kReceive, kAnyRank}, {kMessage, 1}}, {"3-2"}},
        MatcherCase{"AnyRankAndANamedOneInTheOrderInWhichTheyAsked",
                    {{kReceive, kAnyRank}, {kReceive, 1}, {kMessage, 1}, {kMessage, 1}},
                    {"3-1", "4-2"}},
        MatcherCase{"ANamedOneBeforeAnyRank",
                    {{kReceive, 1}, {kReceive, kAnyRank}, {kMessage, 2}, {kMessage, 1}},
                    {"3-2", "4-1"}},
        MatcherCase{"ACancelledReceiveGetsNothing",
                    {{kReceive, 1}, {kReceive, 1}, {kCancel, 1}, {kMessage, 1}},
                    {"4-2"}},
        MatcherCase{"ACancelledMessageIsGone",
                    {{kMessage, 1}, {kMessage, 1}, {kCancel, 1}, {kReceive, 1}, {kReceive, 1}},
                    {"4-2"}},
        MatcherCase{"WhatHasMetIsNotCancelled",
                    {{kMessage, 1}, {kReceive, 1}, {kCancel, 2}, {kCancel, 1}, {kReceive, 1}, {kMessage, 1}},
                    {"2-1", "6-5"}}),
    [](const auto& each) { return each.param.name; });

TEST(Matcher, AMessageThatComesBackKeepsItsPlace) {
  TestMatcher matcher;
  for (const int number : {1, 3, 4}) matcher.hold(std::make_shared<TestParcel>(TestParcel{1, kTag, number}));
  matcher.hold(std::make_shared<TestParcel>(TestParcel{1, kTag, 2}),
               [](const auto& m) { return m->number > 2; });
  std::vector<int> order;
  for (const auto& each : matcher.take_all()) order.push_back(each->number);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  TestReceive receive{{1, kTag, {}, false}, 0};
  EXPECT_EQ(matcher.take_or_post(receive), nullptr);
  EXPECT_TRUE(matcher.withdraw(receive));
  EXPECT_FALSE(matcher.withdraw(receive));
}

TEST(Want, GivesWhatItFilledOrWasLentAndRefusesWhatIsTooLong) {
  std::array<std::byte, 4> into{};
  const std::array<std::byte, 6> lent{};
  const Want filled{1, kTag, into, false};
  EXPECT_TRUE(filled.has_room(4));
  EXPECT_FALSE(filled.has_room(5));
  const Arrival part = filled.arrival(0, 1, ConstBytes(lent).first(3));
  EXPECT_EQ(part.data.data(), into.data());
  EXPECT_EQ(part.data.size(), 3U);
  EXPECT_THROW(filled.arrival(0, 1, lent), Mismatch);
  const Want loan{kAnyRank, kTag, {}, true};
  EXPECT_FALSE(loan.has_room(0));
  const Arrival whole = loan.arrival(0, 2, lent);
  EXPECT_EQ(whole.peer, 2);
  EXPECT_EQ(whole.data.data(), lent.data());
}

}  // namespace
}  // namespace tacit::test
