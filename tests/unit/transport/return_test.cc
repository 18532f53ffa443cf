// SPDX-License-Identifier: MIT
// Ranks that were lost and come back as new processes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/returning_ranks.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr std::size_t kLarge = std::size_t{3} << 20U;  // more than rings and sockets take at once

Tag tag(std::uint32_t number) { return {Tag::Channel::kReply, Tag::Lane::kTrain, number}; }

std::vector<std::byte> filled(std::size_t size, int with) {
  return std::vector<std::byte>(size, static_cast<std::byte>(with));
}

// Everybody with everybody, short and long.
void talk(ReturningRanks& ranks, std::uint32_t number) {
  run_ranks(ranks.size(), [&](int rank) {
    Endpoint& me = ranks.endpoint(rank);
    for (const std::size_t size : {std::size_t{8}, kLarge}) {
      const Tag about = tag(2 * number + (size == kLarge ? 1 : 0));
      const auto mine = filled(size, 10 + rank);
      std::vector<std::vector<std::byte>> theirs(static_cast<std::size_t>(ranks.size()), filled(size, 0));
      std::vector<Request> under_way;
      for (int peer = 0; peer < ranks.size(); ++peer) {
        under_way.push_back(me.irecv(peer, about, theirs[static_cast<std::size_t>(peer)]));
        under_way.push_back(me.isend(peer, about, mine));
      }
      for (const Request& each : under_way) each->wait();
      for (int peer = 0; peer < ranks.size(); ++peer)
        EXPECT_EQ(theirs[static_cast<std::size_t>(peer)], filled(size, 10 + peer));
    }
  });
}

class ReturnOver : public testing::TestWithParam<ReturningRanks::Kind> {};

TEST_P(ReturnOver, ARankThatIsBackTalksWithAllAsBefore) {
  ReturningRanks ranks(3, GetParam());
  talk(ranks, 0);
  std::uint32_t entry = 0;
  for (const int gone : {2, 0, 0, 1}) {
    ranks.lose(gone);
    ASSERT_TRUE(ranks.is_lost(gone));
    ranks.come_back(gone, ++entry);
    talk(ranks, entry);
    for (int rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks.endpoint(rank).entry(gone), entry);
      EXPECT_TRUE(ranks.endpoint(rank).losses().empty());
      EXPECT_TRUE(ranks.endpoint(rank).disturbed());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReturnOver,
                         testing::Values(ReturningRanks::Kind{false, false},
                                         ReturningRanks::Kind{true, false}, ReturningRanks::Kind{true, true}),
                         [](const auto& param) {
                           return std::string(param.param.share_memory ? "Memory"
                                              : param.param.encrypted  ? "Tls"
                                                                       : "Plain");
                         });

TEST(Return, IsNotTakenBackWhileAWaitForItsEarlierLifeIsLeft) {
  ReturningRanks ranks(2);
  auto word = filled(8, 0);
  Request left = ranks.endpoint(0).irecv(1, tag(7), word);
  ranks.lose(1);
  ASSERT_TRUE(ranks.is_lost(1));
  std::atomic<bool> back{false};
  ThreadTasks tasks;
  const auto coming = tasks.spawn("coming", [&] {
    ranks.come_back(1, 1);
    back.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(back.load());
  EXPECT_THROW(left->wait(), PeerLost);
  left.reset();
  coming->join();
  EXPECT_TRUE(back.load());
}

TEST(Return, WhatWaitedToGoToItsEarlierLifeEndsAsIfItHadGone) {
  for (const bool share_memory : {false, true}) {
    ReturningRanks ranks(2, {true, share_memory});
    talk(ranks, 0);
    const auto data = filled(kLarge, 1);
    const Request before = ranks.endpoint(0).isend(1, tag(7), data);  // which nobody receives
    ranks.lose(1);
    ASSERT_TRUE(ranks.is_lost(1));
    const Request after = ranks.endpoint(0).isend(1, tag(8), data);
    ranks.come_back(1, 1);
    before->wait();
    after->wait();
    talk(ranks, 1);
  }
}

TEST(Return, WhatItsEarlierLifeSentAndNobodyTookIsForgotten) {
  ReturningRanks ranks(2);
  const auto stale = filled(8, 1);
  ranks.endpoint(1).isend(0, tag(7), stale)->wait();
  ranks.endpoint(1).isend(0, tag(8), stale)->wait();
  auto word = filled(8, 0);
  ranks.endpoint(0).irecv(1, tag(8), word)->wait();  // so that both are there
  ranks.lose(1);
  ASSERT_TRUE(ranks.is_lost(1));
  Endpoint& back = ranks.come_back(1, 1);
  const auto fresh = filled(8, 2);
  back.isend(0, tag(7), fresh)->wait();
  ranks.endpoint(0).irecv(1, tag(7), word)->wait();
  EXPECT_EQ(word, fresh);
}

TEST(Return, FindsThoseLostThatAreNotThere) {
  ReturningRanks ranks(4);
  ranks.lose(1);
  ranks.lose(3);
  ASSERT_TRUE(ranks.is_lost(1) && ranks.is_lost(3));
  Endpoint& back = ranks.come_back(3, 1);
  EXPECT_FALSE(back.here(1));
  EXPECT_EQ(living(back), (std::vector<int>{0, 2, 3}));
  auto word = filled(8, 3);
  EXPECT_THROW(back.isend(1, tag(7), word)->wait(), PeerLost);
  EXPECT_THROW(back.irecv(1, tag(7), word)->wait(), PeerLost);
  ranks.come_back(1, 2);  // which finds the one that is back
  EXPECT_TRUE(eventually([&] { return back.here(1); }));
  talk(ranks, 1);
}

TEST(Return, TwoProcessesOfOneReturnAreRefused) {
  ReturningRanks ranks(2);
  ranks.lose(1);
  ASSERT_TRUE(ranks.is_lost(1));
  ranks.come_back(1, 1);
  try {
    ranks.come_back(1, 1);
    FAIL() << "both came in";
  } catch (const Mismatch& refused) {
    EXPECT_NE(std::string(refused.what()).find("rank 1 has come back already"), std::string::npos)
        << refused.what();
  }
}

TEST(Return, WhereNobodyIsLeftItIsAsIfItsPeersWereLost) {
  ReturningRanks ranks(2);
  ranks.lose(1);
  ranks.lose(0);
  EXPECT_THROW(ranks.come_back(1, 1), PeerLost);
}

}  // namespace
}  // namespace tacit::test
