// SPDX-License-Identifier: MIT
#include "tacit/protocols/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "support/on_surviving_ranks.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit::test {
namespace {

// Of a vector of `count` values.
ShardRuleMaker mean_rule(int ranks, std::size_t count) {
  return [=](Slice shard) {
    std::vector<float> x(count);
    return make_mean_rule(ranks, part(FloatView(x), shard));
  };
}

TEST(Shards, PullingTheMeanRuleGivesTheMeanOfAllPushesOfThatStep) {
  for (const int ranks : {1, 2, 3, 5})
    for (int servers = 1; servers <= ranks; ++servers)
      on_every_comm(ranks, [&](Comm& comm) {
        const std::size_t count = 1000;
        Shards shards(comm, servers, count, mean_rule(ranks, count));
        for (int step = 0; step < 20; ++step) {
          std::vector<float> x(count);
          for (std::size_t i = 0; i < count; ++i)
            x[i] = static_cast<float>(static_cast<int>(i) * comm.rank() + step);
          shards.push(step, x);
          shards.pull(step, x);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_FLOAT_EQ(
                x[i], static_cast<float>(i) * static_cast<float>(ranks - 1) / 2 + static_cast<float>(step));
        }
        shards.close();
      });
}

TEST(Shards, AWorkerSendsItsVectorUpOnceAndTheServersSendItDownOnce) {
  constexpr std::size_t kCount = 16 * 100;
  constexpr std::size_t kHeader = 32;
  on_every_comm(4, [&](Comm& comm) {
    Shards shards(comm, 4, kCount, mean_rule(4, kCount));
    std::vector<float> x(kCount, 1.0F);
    shards.push(0, x);
    shards.pull(0, x);
    comm.barrier();  // all answers are out
    // Up: a quarter to each of three others, with a header. Pull: three headers. Down: three answers of a quarter.
    // What a worker says to its own shard costs nothing.
    EXPECT_EQ(comm.ledger().sent(Tag::Lane::kTrain).payload, 6 * kCount / 4 * sizeof(float) + 6 * kHeader);
    shards.close();
  });
}

TEST(Shards, MoreServersThanWorkersAreRefused) {
  on_every_comm(2, [](Comm& comm) { EXPECT_THROW(Shards(comm, 3, 10, mean_rule(2, 10)), InvalidConfig); });
}

TEST(Shards, FewerParametersThanServersLeaveSomeServersEmpty) {
  on_every_comm(4, [](Comm& comm) {
    Shards shards(comm, 4, 5, mean_rule(4, 5));
    std::vector<float> x(5, static_cast<float>(comm.rank()));
    shards.push(0, x);
    shards.pull(0, x);
    for (const float v : x) EXPECT_EQ(v, 1.5F);
    shards.close();
  });
}

// --- where ranks are lost

using Floats = std::vector<float>;
constexpr std::size_t kCount = 16 * 500;

// Adds up what is pushed, and answers with the sum so far.
class SumRule final : public ShardRule {
 public:
  explicit SumRule(ConstFloatView begin) { sum_.assign(begin); }
  ConstFloatView exchange(const ShardPush& push) override {
    kernels::add(push.x, sum_.view());
    return sum_.view();
  }
  ConstFloatView pull(int, std::int64_t) override { return sum_.view(); }
  void save(StateWriter& state) const override { state.write("sum", sum_.view()); }

 private:
  Buffer sum_;
};

std::unique_ptr<ShardRule> sum_from(ConstFloatView weights) { return std::make_unique<SumRule>(weights); }

// Sums that begin with zero.
Shards sums(Comm& comm, int servers, const ShardBeginner& begin = sum_from) {
  const Floats zeros(kCount);
  const auto rule = [&](Slice shard) { return sum_from(part(ConstFloatView(zeros), shard)); };
  return {comm, servers, kCount, rule, begin};
}

// The value that all numbers of a shard have.
float in_shard(const Floats& x, int servers, int shard) {
  const Slice part = Shards::parts(kCount, servers)[static_cast<std::size_t>(shard)];
  for (std::size_t i = 0; i < part.count; ++i) EXPECT_EQ(x[part.offset + i], x[part.offset]);
  return x[part.offset];
}

void lose(InprocFabric& fabric, int rank) {
  fabric.leave(rank, InprocFabric::Leave::kFailed, "killed on purpose");
}

// Four ranks with four shards, of which 1 is lost, or 1 and 2, or all but 0.
TEST(Shards, OfLostRanksBeginAnewWithTheWeightsOfWhoeverAsksFirst) {
  for (const std::vector<int>& victims : {std::vector{1}, {1, 2}, {2, 1}, {1, 2, 3}, {3}}) {
    InprocFabric fabric(4, test_limits());
    on_surviving_comms(fabric, 4, [&](Comm& comm) {
      Shards shards = sums(comm, 4);
      const Floats one(kCount, 1);
      const Floats own(kCount, 100);
      Floats out(kCount);
      if (comm.rank() == 0) shards.exchange({.x = one}, out, own);
      comm.barrier();
      if (std::find(victims.begin(), victims.end(), comm.rank()) != victims.end())
        return lose(fabric, comm.rank());
      while (comm.losses().size() < victims.size()) std::this_thread::yield();
      if (comm.rank() == 0) {
        shards.exchange({.x = one}, out, own);
        shards.exchange({.x = one}, out, own);
        for (int shard = 0; shard < 4; ++shard) {
          const bool lost = std::find(victims.begin(), victims.end(), shard) != victims.end();
          EXPECT_EQ(in_shard(out, 4, shard), lost ? 102 : 3) << "shard " << shard;
        }
      }
      comm.barrier();
      Floats read(kCount, -1);
      shards.read(comm, 0, read);
      EXPECT_EQ(in_shard(read, 4, 1), victims == std::vector{3} ? 3 : 102);
      EXPECT_EQ(in_shard(read, 4, 0), 3);
      shards.close();
    });
  }
}

// Nobody has asked for the shard since: who is to read it out lets it begin with its own weights.
TEST(Shards, OfALostRankThatNobodyAskedForAreReadAndSavedByTheNext) {
  InprocFabric fabric(3, test_limits());
  on_surviving_comms(fabric, 3, [&](Comm& comm) {
    Shards shards = sums(comm, 1);
    comm.barrier();
    if (comm.rank() == 0) return lose(fabric, 0);
    while (comm.losses().empty()) std::this_thread::yield();
    Floats out(kCount, static_cast<float>(10 * comm.rank()));
    shards.read(comm, 0, out);
    EXPECT_EQ(in_shard(out, 1, 0), 10);
    StateWriter state;
    shards.save(0, state, out);
    EXPECT_EQ(state.pieces().empty(), comm.rank() != 1);
    shards.close();
  });
}

// Whatever the moment: at the end a shard of a rank that lived has every push of those that live, once.
TEST(Shards, ThatLiveCountEveryPushOnceWheneverAnotherIsLost) {
  constexpr int kRanks = 4;
  constexpr int kPushes = 40;
  for (int trial = 0; trial < 12; ++trial) {
    InprocFabric fabric(kRanks, test_limits());
    std::atomic<int> pushed{0};
    std::thread killer([&] {
      for (const int victim : {1, 2}) {
        while (pushed.load() < 10 * victim + trial) std::this_thread::yield();
        for (int yields = 0; yields < trial % 5; ++yields) std::this_thread::yield();
        lose(fabric, victim);
      }
    });
    on_surviving_comms(fabric, kRanks, [&](Comm& comm) {
      Shards shards = sums(comm, kRanks);
      const Floats x(kCount, comm.rank() == 0 ? 1.0F : comm.rank() == 3 ? 1000.0F : 0.0F);
      Floats out(kCount);
      for (int i = 0; i < kPushes; ++i) {
        shards.exchange({.x = x}, out, out);
        if (comm.rank() == 0) ++pushed;
      }
      comm.barrier();
      shards.read(comm, 0, out);
      EXPECT_EQ(in_shard(out, kRanks, 0), 1001.0F * kPushes);
      EXPECT_EQ(in_shard(out, kRanks, 3), 1001.0F * kPushes);
      // The others began with what a rank had of them, perhaps with its push, which then came again: once per loss.
      for (const int moved : {1, 2}) {
        const float all = in_shard(out, kRanks, moved);
        EXPECT_TRUE(all > 0 && all <= 1001.0F * (kPushes + 2)) << all;
      }
      comm.barrier();
      shards.close();
    });
    killer.join();
  }
}

TEST(Shards, WithoutAWayToBeginAnewEndWithTheLossAlsoWhereTheWorldGoesOn) {
  InprocFabric fabric(3, test_limits());
  on_surviving_comms(fabric, 3, [&](Comm& comm) {
    Shards shards = sums(comm, 3, nullptr);
    comm.barrier();
    if (comm.rank() == 1) return lose(fabric, 1);
    while (comm.losses().empty()) std::this_thread::yield();
    const Floats x(kCount, 1);
    Floats out(kCount);
    EXPECT_THROW(shards.exchange({.x = x}, out), PeerLost);
    shards.close();
  });
}

}  // namespace
}  // namespace tacit::test
