// SPDX-License-Identifier: MIT
// Swaps among three ranks of which one comes too late to each.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/core/error.h"

namespace tacit::test {

struct LateRank {
  static constexpr int kRanks = 3;
  static constexpr int kLate = 2;
  int rounds = 100;
  Seconds patience{0.001};                          // of the others
  std::function<void(int round)> await_others{};    // the late rank comes after their deadline
  std::function<void(int rank, int round)> past{};  // a rank has been through a round
};

// Longer than what transports copy at once.
inline std::vector<float> late_vector(int rank, int round) {
  return std::vector<float>(6000, static_cast<float>(1000 * rank + round % 1000));
}

inline std::vector<Swap> neighbours_of(int rank, const std::vector<float>& out,
                                       std::vector<std::vector<float>>& in) {
  std::vector<Swap> with;
  for (int peer = 0; peer < LateRank::kRanks; ++peer)
    if (peer != rank) with.push_back({peer, out, in[static_cast<std::size_t>(peer)]});
  return with;
}

// Every message that a peer has sent has been taken: none waits in a mailbox.
inline void expect_no_mail(Comm& comm) {
  const Tag::Lane lane = Tag::Lane::kTrain;
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
  for (int peer = 0; peer < comm.size(); ++peer) {
    sent.push_back(comm.ledger().sent(peer, lane).messages);
    received.push_back(comm.ledger().received(peer, lane).messages);
  }
  std::vector<ConstBytes> out;
  for (const std::uint64_t& each : sent) out.push_back(std::as_bytes(std::span(&each, 1)));
  comm.all_to_all(out, [&](int from, ConstBytes message) {
    std::uint64_t count = 0;
    copy<std::byte>(message, std::as_writable_bytes(std::span(&count, 1)));
    EXPECT_EQ(received[static_cast<std::size_t>(from)], count)
        << "messages from rank " << from << " to rank " << comm.rank();
  });
}

inline void swap_with_a_late_rank(Comm& comm, const LateRank& plan) {
  const int rank = comm.rank();
  const std::vector<float> untouched(late_vector(0, 0).size(), -1);
  for (int round = 0; round < plan.rounds; ++round) {
    if (rank == LateRank::kLate) plan.await_others(round);
    const std::vector<float> out = late_vector(rank, round);
    std::vector<std::vector<float>> in(LateRank::kRanks, untouched);
    const std::vector<Swap> with = neighbours_of(rank, out, in);
    const Seconds patience = rank == LateRank::kLate ? Seconds(0) : plan.patience;
    const std::vector<bool> came = comm.swap(with, comm.clock().now() + patience);
    for (std::size_t i = 0; i < with.size(); ++i) {
      const int peer = with[i].peer;
      ASSERT_EQ(in[static_cast<std::size_t>(peer)], came[i] ? late_vector(peer, round) : untouched)
          << "rank " << rank << ", round " << round << ", from rank " << peer;
      if (peer == LateRank::kLate) {
        ASSERT_FALSE(came[i]) << "rank " << rank << ", round " << round;
      }
    }
    plan.past(rank, round);
  }
  // Later ones are right, and what came too late has been swallowed.
  for (const int round : {1, 2, 3}) {
    const std::vector<float> out = late_vector(rank, round);
    std::vector<std::vector<float>> in(LateRank::kRanks, untouched);
    comm.swap(neighbours_of(rank, out, in));
    for (int peer = 0; peer < LateRank::kRanks; ++peer)
      if (peer != rank) {
        EXPECT_EQ(in[static_cast<std::size_t>(peer)], late_vector(peer, round));
      }
    comm.barrier();
  }
  expect_no_mail(comm);
}

// Where ranks are threads of this process: the late one waits until the others have been through a round. What waits in
// vain for a minute throws.
class OthersAhead {
 public:
  LateRank plan(int rounds) {
    return {.rounds = rounds,
            .await_others =
                [this](int round) {
                  RealClock clock;
                  const Seconds limit = clock.now() + Seconds(60);
                  while (through_[0].load() <= round || through_[1].load() <= round) {
                    if (clock.now() > limit) throw Timeout("the others do not come through their round");
                    clock.sleep(Seconds(0.001));
                  }
                },
            .past = [this](int rank, int) { through_[static_cast<std::size_t>(rank)].fetch_add(1); }};
  }

 private:
  std::array<std::atomic<int>, LateRank::kRanks> through_{};
};

}  // namespace tacit::test
