// SPDX-License-Identifier: MIT
// The lines between tacit launch and its nodes that are about ranks that come back.
#include <gtest/gtest.h>

#include "cli/launch/protocol.h"

namespace tacit::cli {
namespace {

TEST(NodeProtocol, AnOrderIsReadAsItWasWritten) {
  const auto order = parse_order(to_line(Return{3, 7, "0@node1:80,1@[::1]:81"}));
  ASSERT_TRUE(order && std::holds_alternative<Return>(*order));
  const Return& how = std::get<Return>(*order);
  EXPECT_EQ(how.rank, 3);
  EXPECT_EQ(how.number, 7);
  EXPECT_EQ(how.members, "0@node1:80,1@[::1]:81");
  const auto signal = parse_order(to_line(SignalOrder{15, 2}));
  ASSERT_TRUE(signal && std::holds_alternative<SignalOrder>(*signal));
  EXPECT_EQ(std::get<SignalOrder>(*signal).rank, 2);
  EXPECT_FALSE(std::get<SignalOrder>(*parse_order(to_line(SignalOrder{15}))).rank);
}

TEST(NodeProtocol, WhatIsNoOrderIsNone) {
  for (const char* line :
       {"", "{}", "[]", "{\"return\":1}", "{\"signal\":\"x\"}", "{\"rank\":1,\"return\":1}"})
    EXPECT_FALSE(parse_order(line)) << line;
}

TEST(NodeProtocol, ANoteHasThePortWithIt) {
  for (const LauncherNote note : {LauncherNote::kNone, LauncherNote::kOthersGoOn, LauncherNote::kGivenUp}) {
    const auto message = parse_message(to_line(NodeMessage(RankNoted{2, note, 65535})));
    ASSERT_TRUE(message && std::holds_alternative<RankNoted>(*message));
    EXPECT_EQ(std::get<RankNoted>(*message).rank, 2);
    EXPECT_EQ(std::get<RankNoted>(*message).note, note);
    EXPECT_EQ(std::get<RankNoted>(*message).port, 65535);
  }
  EXPECT_FALSE(parse_message("{\"rank\":2,\"note\":3,\"port\":1}"));
  EXPECT_FALSE(parse_message("{\"rank\":2,\"note\":1}"));
}

TEST(NodeProtocol, ARankThatCouldNotBeStartedSaysWhy) {
  const auto message = parse_message(to_line(NodeMessage(RankEnded{1, Ending::not_started("no \xFF file")})));
  ASSERT_TRUE(message && std::holds_alternative<RankEnded>(*message));
  EXPECT_EQ(std::get<RankEnded>(*message).how, Ending::not_started("no \xFF file"));
}

TEST(NodeProtocol, AJobSaysWhetherItsNodeStartsRanksAndStays) {
  NodeJob job{{"id", 4, {}, "tcp://a:1", {"true"}}, {2, 2}, "/", "a"};
  EXPECT_TRUE(parse_job(to_line(job)).starts);
  EXPECT_FALSE(parse_job(to_line(job)).job.restarts);
  job.starts = false;
  job.job.restarts = true;
  EXPECT_FALSE(parse_job(to_line(job)).starts);
  EXPECT_TRUE(parse_job(to_line(job)).job.restarts);
}

}  // namespace
}  // namespace tacit::cli
