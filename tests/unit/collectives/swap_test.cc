// SPDX-License-Identifier: MIT
// Exchanges with several neighbours at once, with and without a deadline.
#include <gtest/gtest.h>

#include "support/late_rank.h"
#include "support/on_every_rank.h"
#include "support/simulate.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit::test {
namespace {

// Whether one rank sends to another.
struct Graph {
  std::string name;
  std::function<bool(int from, int to)> has;
};

std::vector<Graph> graphs_of(int ranks) {
  const auto next = [=](int from, int to) { return to == (from + 1) % ranks; };
  const auto random = [=](int from, int to) {
    return Rng(static_cast<std::uint64_t>(ranks), from, to, Rng::Use::kData).below(3) == 0;
  };
  return {{"a ring", [=](int from, int to) { return next(from, to) || next(to, from); }},
          {"a ring one way", next},
          {"all", [](int, int) { return true; }},
          {"a star", [](int from, int to) { return from == 0 || to == 0; }},
          {"nobody", [](int, int) { return false; }},
          {"any", [=](int from, int to) { return random(from, to) || random(to, from); }},
          {"any, one way", random}};
}

void swap_over(Comm& comm, const Graph& graph, std::size_t count) {
  for (int round = 0; round < 3; ++round) {
    const auto value = [=](int from, int to) { return static_cast<float>(100 * from + 10 * to + round); };
    std::vector<std::vector<float>> out;
    std::vector<std::vector<float>> in(static_cast<std::size_t>(comm.size()), std::vector<float>(count, -1));
    for (int peer = 0; peer < comm.size(); ++peer) out.emplace_back(count, value(comm.rank(), peer));
    std::vector<Swap> with;
    for (int peer = 0; peer < comm.size(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      const bool goes = peer != comm.rank() && graph.has(comm.rank(), peer);
      const bool comes = peer != comm.rank() && graph.has(peer, comm.rank());
      if (goes || comes)
        with.push_back({peer, goes ? ConstFloatView(out[at]) : ConstFloatView(),
                        comes ? FloatView(in[at]) : FloatView()});
    }
    for (const bool came : comm.swap(with)) EXPECT_TRUE(came);
    for (int peer = 0; peer < comm.size(); ++peer) {
      const bool comes = peer != comm.rank() && graph.has(peer, comm.rank());
      ASSERT_EQ(in[static_cast<std::size_t>(peer)],
                std::vector<float>(count, comes ? value(peer, comm.rank()) : -1))
          << graph.name << ", " << comm.size() << " ranks, from " << peer << " to " << comm.rank();
    }
  }
}

TEST(Swap, WorksOverEveryGraphAndNeverDeadLocks) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    on_every_comm(ranks, [&](Comm& comm) {
      for (const Graph& graph : graphs_of(ranks))
        for (const std::size_t count : {std::size_t{1}, std::size_t{6000}}) swap_over(comm, graph, count);
    });
}

TEST(Swap, InVirtualTimeToo) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  simulate(flat(5), [](Process& me) {
    for (const Graph& graph : graphs_of(5)) swap_over(me.comm(), graph, 6000);
  });
}

// What swap is for: on a ring, ranks that exchange with one neighbour after the other wait for each other.
TEST(Swap, DoesWhatExchangesInTurnsCannot) {
  EXPECT_THROW(on_every_comm(3,
                             [](Comm& comm) {
                               std::array<std::byte, 4> x{};
                               comm.exchange((comm.rank() + 1) % 3, x, x);
                               comm.exchange((comm.rank() + 2) % 3, x, x);
                             }),
               Error);
}

TEST(Swap, AndExchangesWithOnePeerKeepTheirOrder) {
  on_every_comm(2, [](Comm& comm) {
    const int peer = 1 - comm.rank();
    std::vector<std::vector<float>> in(3, std::vector<float>(1));
    const std::vector<float> first{1};
    const std::vector<float> second{2};
    const std::vector<Swap> twice{{peer, first, in[0]}, {peer, second, in[1]}};
    comm.swap(twice);
    std::vector<float> third{3};
    comm.exchange(peer, bytes_of(ConstFloatView(third)), bytes_of(FloatView(in[2])));
    EXPECT_EQ(in, (std::vector<std::vector<float>>{{1}, {2}, {3}}));
  });
}

TEST(Swap, OfDifferentLengthsIsAMismatch) {
  EXPECT_THROW(on_every_comm(2,
                             [](Comm& comm) {
                               std::vector<float> x(static_cast<std::size_t>(5 + comm.rank()));
                               std::vector<float> y(x.size());
                               comm.swap(std::vector<Swap>{{1 - comm.rank(), x, y}});
                             }),
               Error);
}

TEST(SwapDeadline, WhatComesTooLateIsDroppedAndLaterSwapsAreRight) {
  OthersAhead ahead;
  on_every_comm(LateRank::kRanks, [&](Comm& comm) { swap_with_a_late_rank(comm, ahead.plan(300)); });
}

TEST(SwapDeadline, InVirtualTimeItEndsAtThatMoment) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  simulate(flat(LateRank::kRanks), [](Process& me) {
    Clock& clock = me.tasks().clock();
    const auto sleep = [&](int) { clock.sleep(Seconds(1)); };
    const auto look = [&](int rank, int round) {
      EXPECT_TRUE(rank == LateRank::kLate || clock.now() == Seconds(0.125 * (round + 1)))
          << clock.now().count();
    };
    swap_with_a_late_rank(me.comm(),
                          {.rounds = 1000, .patience = Seconds(0.125), .await_others = sleep, .past = look});
  });
}

TEST(SomeToAllDeadline, TakesWhatHasComeAndSaysFromWhom) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  simulate(flat(3), [](Process& me) {
    Comm& comm = me.comm();
    const auto all = [&](int round, Deadline deadline) {
      const std::vector<int> word(10'000, 10 * comm.rank() + round);
      const std::vector<ConstBytes> out(3, std::as_bytes(std::span(word)));
      std::vector<int> heard;
      comm.some_to_all(
          {true, true, true}, out,
          [&](int from, ConstBytes message) {
            EXPECT_EQ(message.size(), out[0].size());
            EXPECT_EQ(static_cast<int>(message[0]), 10 * from + round);
            heard.push_back(from);
          },
          deadline);
      return heard;
    };
    for (int round = 0; round < 5; ++round) {
      const bool late = me.rank() == 2;
      if (late) me.tasks().clock().sleep(Seconds(1));
      EXPECT_EQ(all(round, me.tasks().clock().now() + Seconds(0.125)),
                late ? (std::vector<int>{0, 1, 2}) : (std::vector<int>{0, 1}));
    }
    EXPECT_EQ(all(5, kNever), (std::vector<int>{0, 1, 2}));
    comm.barrier();
    EXPECT_EQ(all(6, kNever), (std::vector<int>{0, 1, 2}));
    expect_no_mail(comm);
  });
}

}  // namespace
}  // namespace tacit::test
