// SPDX-License-Identifier: MIT
// What every transport must do. A new transport adds one row.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include "support/on_every_rank.h"
#include "support/tcp_fabric.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

struct TransportCase {
  std::string name;
  MakeFabric make;
};
void PrintTo(const TransportCase& c, std::ostream* os) { *os << c.name; }

std::vector<TransportCase> all_transports() {
  return {{"inproc",
           [](int ranks, WaitLimits limits) {
             return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
           }},
          {"tcp",
           [](int ranks, const WaitLimits& limits) {
             return std::make_unique<TcpTestFabric>(ranks, limits, std::nullopt);
           }},
          {"tcp_tls", [](int ranks, const WaitLimits& limits) {
             return std::make_unique<TcpTestFabric>(ranks, limits, JobKey::random());
           }}};
}

constexpr std::size_t kSmall = 100;                  // below every transport's eager limit
constexpr std::size_t kLarge = 3 * 1024 * 1024 + 7;  // above it

Tag tag(std::uint32_t step = 0, std::uint16_t part = 0) {
  return {Tag::Channel::kExchange, Tag::Lane::kTrain, step, part};
}

std::vector<std::byte> pattern(std::size_t size, int seed) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
  return data;
}

class EndpointConformance : public ::testing::TestWithParam<TransportCase> {
 protected:
  void on_every_rank(int ranks, const std::function<void(Endpoint&)>& body) {
    on_every_endpoint(GetParam().make, ranks, body);
  }
};

TEST_P(EndpointConformance, EveryRankReachesEveryRankIncludingItself) {
  for (const std::size_t size : {std::size_t{0}, kSmall, kLarge}) {
    on_every_rank(3, [&](Endpoint& ep) {
      const auto mine = pattern(size, ep.rank());
      std::vector<std::vector<std::byte>> in(3, std::vector<std::byte>(size));
      std::vector<Request> requests;
      for (int peer = 0; peer < 3; ++peer)
        requests.push_back(ep.irecv(peer, tag(), in[static_cast<std::size_t>(peer)]));
      for (int peer = 0; peer < 3; ++peer) requests.push_back(ep.isend(peer, tag(), mine));
      for (const Request& r : requests) r->wait();
      for (int peer = 0; peer < 3; ++peer) EXPECT_EQ(in[static_cast<std::size_t>(peer)], pattern(size, peer));
    });
  }
}

TEST_P(EndpointConformance, EqualTagsKeepTheirOrder) {
  on_every_rank(2, [](Endpoint& ep) {
    for (int i = 0; i < 100; ++i) {
      int value = ep.rank() == 0 ? i : -1;
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      if (ep.rank() == 0) {
        ep.isend(1, tag(), bytes)->wait();
      } else {
        ep.irecv(0, tag(), bytes)->wait();
        EXPECT_EQ(value, i);
      }
    }
  });
}

TEST_P(EndpointConformance, SmallMessagesDoNotOvertakeLargeOnesOfTheSameTag) {
  on_every_rank(2, [](Endpoint& ep) {
    const auto large = pattern(kLarge, 1);
    const auto small = pattern(kSmall, 2);
    if (ep.rank() == 0) {
      const Request a = ep.isend(1, tag(), large);
      const Request b = ep.isend(1, tag(), small);
      a->wait();
      b->wait();
    } else {
      std::vector<std::byte> in(kLarge);
      EXPECT_EQ(ep.irecv(0, tag(), in)->wait().data.size(), kLarge);
      EXPECT_EQ(ep.irecv(0, tag(), in)->wait().data.size(), kSmall);
    }
  });
}

TEST_P(EndpointConformance, TagsAreToldApartWhateverTheOrder) {
  on_every_rank(2, [](Endpoint& ep) {
    if (ep.rank() == 0) {
      for (const std::uint16_t p : std::array<std::uint16_t, 3>{2, 0, 1})
        ep.isend(1, tag(7, p), pattern(kSmall, p))->wait();
    } else {
      for (const std::uint16_t p : std::array<std::uint16_t, 3>{0, 1, 2}) {
        std::vector<std::byte> in(kSmall);
        ep.irecv(0, tag(7, p), in)->wait();
        EXPECT_EQ(in, pattern(kSmall, p));
      }
    }
  });
}

TEST_P(EndpointConformance, ABorrowedMessageIsReadableUntilItIsDropped) {
  for (const std::size_t size : {kSmall, kLarge}) {
    on_every_rank(2, [&](Endpoint& ep) {
      const auto mine = pattern(size, ep.rank());
      const int peer = 1 - ep.rank();
      Request in = ep.iborrow(peer, tag());
      const Request out = ep.isend(peer, tag(), mine);
      const Arrival arrival = in->wait();
      EXPECT_EQ(arrival.peer, peer);
      const auto expected = pattern(size, peer);
      EXPECT_TRUE(std::equal(arrival.data.begin(), arrival.data.end(), expected.begin(), expected.end()));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrival.data.data()) % alignof(double), 0U);
      in.reset();
      out->wait();
    });
  }
}

TEST_P(EndpointConformance, AReceiveFromAnyRankSaysWhoSent) {
  on_every_rank(4, [](Endpoint& ep) {
    if (ep.rank() != 0) return (void)ep.isend(0, tag(), pattern(kSmall, ep.rank()))->wait();
    std::vector<bool> seen(4);
    for (int i = 0; i < 3; ++i) {
      std::vector<std::byte> in(kSmall);
      const int from = ep.irecv(kAnyRank, tag(), in)->wait().peer;
      EXPECT_EQ(in, pattern(kSmall, from));
      seen[static_cast<std::size_t>(from)] = true;
    }
    EXPECT_EQ(seen, (std::vector<bool>{false, true, true, true}));
  });
}

TEST_P(EndpointConformance, AMessageLongerThanTheBufferIsRefusedAndHarmsNobody) {
  for (const std::size_t size : {kSmall, kLarge}) {
    on_every_rank(2, [&](Endpoint& ep) {
      const auto data = pattern(size, 0);
      if (ep.rank() == 0) {
        ep.isend(1, tag(), data)->wait();
        ep.isend(1, tag(1), data)->wait();
      } else {
        std::vector<std::byte> in(size - 1, std::byte{7});
        EXPECT_THROW(ep.irecv(0, tag(), in)->wait(), Mismatch);
        std::vector<std::byte> whole(size);
        ep.irecv(0, tag(1), whole)->wait();
        EXPECT_EQ(whole, data);
      }
    });
  }
}

TEST_P(EndpointConformance, ADroppedReceiveLeavesItsMessageToTheNext) {
  on_every_rank(2, [](Endpoint& ep) {
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 1) {
      { const Request dropped = ep.irecv(0, tag(), in); }
      ep.isend(0, tag(1), {})->wait();
      ep.irecv(0, tag(), in)->wait();
      EXPECT_EQ(in, pattern(kSmall, 3));
    } else {
      ep.irecv(1, tag(1), {})->wait();
      ep.isend(1, tag(), pattern(kSmall, 3))->wait();
    }
  });
}

TEST_P(EndpointConformance, ReadyBySaysWhetherWaitWouldReturn) {
  on_every_rank(2, [](Endpoint& ep) {
    std::vector<std::byte> in(kSmall);
    if (ep.rank() == 0) {
      const Request r = ep.irecv(1, tag(), in);
      EXPECT_FALSE(r->ready_by(ep.clock().now()));
      ep.isend(1, tag(1), {})->wait();
      EXPECT_TRUE(r->ready_by(ep.clock().now() + Seconds(30)));
      r->wait();
    } else {
      ep.irecv(0, tag(1), {})->wait();
      ep.isend(0, tag(), pattern(kSmall, 1))->wait();
    }
  });
}

TEST_P(EndpointConformance, TheLedgerCountsWhatWasSentAndReceived) {
  on_every_rank(3, [](Endpoint& ep) {
    const int next = (ep.rank() + 1) % 3;
    const int prev = (ep.rank() + 2) % 3;
    for (const std::size_t size : {kSmall, kLarge}) {
      std::vector<std::byte> in(size);
      const Request r = ep.irecv(prev, tag(), in);
      ep.isend(next, tag(), pattern(size, 0))->wait();
      r->wait();
    }
    const Traffic sent = ep.ledger().sent(next, Tag::Lane::kTrain);
    EXPECT_EQ(sent.messages, 2U);
    EXPECT_EQ(sent.payload, kSmall + kLarge);
    EXPECT_EQ(ep.ledger().received(prev, Tag::Lane::kTrain).payload, kSmall + kLarge);
    EXPECT_EQ(ep.ledger().sent(prev, Tag::Lane::kTrain).messages, 0U);
    EXPECT_EQ(ep.ledger().sent(Tag::Lane::kControl).messages, 0U);
    EXPECT_EQ(ep.ledger().sent(Tag::Lane::kTrain), sent);
  });
}

TEST_P(EndpointConformance, SeveralTasksOfARankMayUseItAtOnce) {
  constexpr int kTasks = 4;
  constexpr int kRounds = 200;
  on_every_rank(2, [](Endpoint& ep) {
    run_ranks(kTasks, [&](int task) {
      const int peer = 1 - ep.rank();
      for (int i = 0; i < kRounds; ++i) {
        int in = -1;
        const int out = task * kRounds + i;
        const Tag t = tag(static_cast<std::uint32_t>(task));
        const Request r = ep.irecv(peer, t, std::as_writable_bytes(std::span(&in, 1)));
        ep.isend(peer, t, std::as_bytes(std::span(&out, 1)))->wait();
        r->wait();
        ASSERT_EQ(in, out);
      }
    });
  });
}

TEST_P(EndpointConformance, AWaitPastItsLimitNamesRankPeerAndExchange) {
  const auto fabric = GetParam().make(2, {Seconds(0.2), Seconds(20), nullptr});
  std::vector<std::byte> in(kSmall);
  try {
    fabric->endpoint(0).irecv(1, tag(17, 2), in)->wait();
    FAIL() << "nothing was sent";
  } catch (const Timeout& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 waits for rank 1 in exchange 17, part 2"),
              std::string::npos)
        << error.what();
  }
}

TEST_P(EndpointConformance, AStallIsReportedWhileTheWaitGoesOn) {
  std::mutex mutex;
  std::vector<std::string> lines;
  const auto report = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  const auto fabric = GetParam().make(2, {Seconds(60), Seconds(0.05), report});
  run_ranks(2, [&](int rank) {
    Endpoint& ep = fabric->endpoint(rank);
    std::vector<std::byte> in(kSmall);
    if (rank == 0) return (void)ep.irecv(1, tag(5), in)->wait();
    for (;;) {  // until rank 0 has complained: no time is assumed
      {
        const std::lock_guard lock(mutex);
        if (!lines.empty()) break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ep.isend(0, tag(5), in)->wait();
  });
  EXPECT_NE(lines.at(0).find("rank 0 waits for rank 1 in exchange 5"), std::string::npos) << lines.at(0);
}

TEST_P(EndpointConformance, WhoWaitsForALostPeerLearnsWhichAndWhy) {
  const auto fabric = GetParam().make(3, test_limits());
  run_ranks(3, [&](int rank) {
    if (rank == 2) return fabric->leave(2, true, "its disk burned");
    std::vector<std::byte> in(kSmall);
    try {
      fabric->endpoint(rank).irecv(rank == 0 ? 2 : kAnyRank, tag(), in)->wait();
      ADD_FAILURE() << "nothing was sent";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.rank, rank);
      EXPECT_EQ(lost.peer, 2);
      EXPECT_NE(std::string(lost.what()).find("its disk burned"), std::string::npos) << lost.what();
    }
  });
}

TEST_P(EndpointConformance, WhatAPeerSentBeforeItLeftStillArrives) {
  const auto fabric = GetParam().make(2, test_limits());
  fabric->endpoint(1).isend(0, tag(), pattern(kSmall, 9))->wait();
  fabric->leave(1, false, "its program ended");
  std::vector<std::byte> in(kSmall);
  fabric->endpoint(0).irecv(1, tag(), in)->wait();
  EXPECT_EQ(in, pattern(kSmall, 9));
  EXPECT_THROW(fabric->endpoint(0).irecv(1, tag(), in)->wait(), PeerLost);
}

TEST_P(EndpointConformance, ASenderThatGivesUpALargeMessageIsNotReadAfterwards) {
  const auto fabric = GetParam().make(2, test_limits());
  {
    auto gone = pattern(kLarge, 1);
    Request dropped = fabric->endpoint(0).isend(1, tag(), gone);
    dropped.reset();
    std::fill(gone.begin(), gone.end(), std::byte{0});
  }
  const auto kept = pattern(kSmall, 2);
  fabric->endpoint(0).isend(1, tag(), kept)->wait();
  std::vector<std::byte> in(kLarge);
  std::size_t size = fabric->endpoint(1).irecv(0, tag(), in)->wait().data.size();
  if (size == kLarge) {  // it was under way; then it is whole
    EXPECT_EQ(in, pattern(kLarge, 1));
    size = fabric->endpoint(1).irecv(0, tag(), in)->wait().data.size();
  }
  EXPECT_EQ(size, kSmall);
}

TEST_P(EndpointConformance, ARankThatDoesNotExistIsABug) {
  const auto fabric = GetParam().make(2, test_limits());
  EXPECT_THROW(fabric->endpoint(0).isend(2, tag(), {}), Bug);
  EXPECT_THROW(fabric->endpoint(0).irecv(-2, tag(), {}), Bug);
}

INSTANTIATE_TEST_SUITE_P(All, EndpointConformance, ::testing::ValuesIn(all_transports()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tacit::test
