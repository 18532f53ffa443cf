// SPDX-License-Identifier: MIT
// Who speaks when in CompSkipDSGD, and the bytes of it.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/replicas.h"
#include "tacit/core/kernels.h"

namespace tacit::test {
namespace {

// A gradient that stays the same: what k silent steps gather is k times as long as what one brings. Two thirds of the
// threshold are reached with two, and squares of lengths would have it then.
TEST(CompSkip, MagnitudeIsTheLengthOfWhatWasGathered) {
  // How far the weights have come after every step, in steps of the first gradient, which grows tenfold at that step.
  const auto spoke = [](const std::string& skips, std::int64_t tenfold = 9) {
    std::vector<float> moved;
    const ReplicaCase c{.strategy = "compskip:up=identity+min=0," + skips, .ranks = 2};
    with_replicas(c, [&](Replica& r, Strategy& s) {
      const auto model = [&] {
        std::vector<float> x(c.parameters);
        s.model(r, x);
        return x[5];
      };
      const float start = model();
      for (std::int64_t t = 0; t < 9; ++t) {
        r.set_t(t);
        kernels::fill(t < tenfold ? 1.0F : 10.0F, r.gradient());
        s.step(r);
        if (r.rank() == 0) moved.push_back(std::round((start - model()) / r.lr()));
      }
      s.finish(r);
    });
    return moved;
  };
  using Steps = std::vector<float>;
  const Steps every_third{0, 0, 3, 3, 3, 6, 6, 6, 9};
  EXPECT_EQ(spoke("skip=magnitude:2.5,server_skip=never"), every_third);
  EXPECT_EQ(spoke("skip=never,server_skip=magnitude:2.5"), every_third);
  // One step is the last one, not the first.
  EXPECT_EQ(spoke("skip=magnitude:2.5,server_skip=never", 3), (Steps{0, 0, 3, 3, 3, 33, 33, 33, 63}));
  // In a step in which nobody has spoken a server knows from the last one how much it may wait for. Workers say two
  // steps in every second one, and of these two make 1.5 times as much as one.
  EXPECT_EQ(spoke("skip=period:2,stagger=no,server_skip=magnitude:1.5"), (Steps{0, 0, 0, 4, 4, 4, 4, 8, 8}));
}

// Payload bytes of every rank in `steps` steps, after the start.
std::vector<std::uint64_t> bytes_of_steps(const std::string& options, std::int64_t steps, int ranks = 2) {
  const ReplicaCase c{.strategy = "compskip:" + options, .ranks = ranks, .parameters = 1600};
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  with_replicas(c, [&](Replica& r, Strategy& s) {
    const auto sent = [&] { return r.comm().ledger().sent(Tag::Lane::kTrain).payload; };
    const std::uint64_t before = sent();
    take_steps(r, s, 0, steps);
    s.finish(r);
    all[static_cast<std::size_t>(r.rank())] = sent() - before;
  });
  return all;
}

TEST(CompSkip, SendsWhatItKeepsAndOnlyWhenItSpeaks) {
  // Half of the vector to the other's shard and the own half to the other. Top-k: 4 + 8 k bytes, after a length of 4.
  constexpr std::uint64_t kHalf = 4 + 4 + 8 * 8;  // 1 % of 800
  const std::string topk = "up=topk:ratio=0.01+min=0";
  using Bytes = std::vector<std::uint64_t>;
  EXPECT_EQ(bytes_of_steps(topk + ",skip=never,server_skip=never", 12), Bytes(2, 12 * 2 * kHalf));
  EXPECT_EQ(bytes_of_steps(topk + ",skip=period:3,server_skip=period:2", 12), Bytes(2, (4 + 6) * kHalf));
  EXPECT_EQ(bytes_of_steps(topk + ",skip=period:4,server_skip=period:4,stagger=no", 12),
            Bytes(2, (3 + 3) * kHalf));
  // Each direction has its own compressor and its own turns.
  constexpr std::uint64_t kTwice = 4 + 4 + 8 * 16;
  EXPECT_EQ(bytes_of_steps(topk + ",down=topk:ratio=0.02+min=0,skip=period:3,server_skip=period:2", 12),
            Bytes(2, 4 * kHalf + 6 * kTwice));
  EXPECT_EQ(bytes_of_steps(topk + ",down=topk:ratio=0.02+min=0,skip=period:6,server_skip=period:2", 12),
            Bytes(2, 2 * kHalf + 6 * kTwice));
  // A server that never speaks more: an empty message costs nothing.
  EXPECT_EQ(bytes_of_steps(topk + ",skip=magnitude:1000000,limit=5,server_skip=never", 12),
            Bytes(2, (2 + 12) * kHalf));
  // Values that travel as they are have a length, too.
  EXPECT_EQ(bytes_of_steps("skip=never,server_skip=never,up=topk:ratio=0.01+min=100000", 5),
            Bytes(2, 5 * 2 * (4 + 800 * 4)));
}

TEST(CompSkip, ByDefaultSendsLessThanAFiftiethOfWhatSynchronousSgdSends) {
  for (const int ranks : {4, 8}) {
    const auto bytes = [&](const char* strategy) {
      std::vector<std::uint64_t> sent(static_cast<std::size_t>(ranks));
      with_replicas({.strategy = strategy, .ranks = ranks, .parameters = 30'000}, [&](Replica& r,
                                                                                      Strategy& s) {
        const std::uint64_t before = r.comm().ledger().sent(Tag::Lane::kTrain).payload;
        take_steps(r, s, 0, 8);
        s.finish(r);
        sent[static_cast<std::size_t>(r.rank())] = r.comm().ledger().sent(Tag::Lane::kTrain).payload - before;
      });
      return std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
    };
    EXPECT_LT(50 * bytes("compskip"), bytes("ssgd")) << ranks << " ranks";
  }
}

TEST(CompSkip, WhoIsKnownToBeSilentSendsNoMessage) {
  const auto messages = [](const std::string& options) {
    std::vector<std::uint64_t> all(3);
    with_replicas({.strategy = "compskip:" + options, .ranks = 3}, [&](Replica& r, Strategy& s) {
      const std::uint64_t before = r.comm().ledger().sent(Tag::Lane::kTrain).messages;
      take_steps(r, s, 0, 12);
      s.finish(r);
      all[static_cast<std::size_t>(r.rank())] = r.comm().ledger().sent(Tag::Lane::kTrain).messages - before;
    });
    return all;
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(messages("skip=period:4,server_skip=period:3"), Counts(3, 2 * (3 + 4)));
  EXPECT_EQ(messages("skip=magnitude:1000000,server_skip=period:12"), Counts(3, 2 * (12 + 1)));
}

// In the first steps of 3 ranks: workers take turns, unless the servers speak at that step only.
TEST(CompSkip, WorkersTakeTurnsUnlessTheServersHaveTheSamePeriod) {
  const auto up = [](const std::string& options, std::int64_t steps) {
    std::vector<std::uint64_t> all(3);
    with_replicas({.strategy = "compskip:" + options, .ranks = 3}, [&](Replica& r, Strategy& s) {
      const std::uint64_t before = r.comm().ledger().sent(Tag::Lane::kTrain).messages;
      take_steps(r, s, 0, steps);
      all[static_cast<std::size_t>(r.rank())] = r.comm().ledger().sent(Tag::Lane::kTrain).messages - before;
      s.finish(r);
    });
    return all;
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(up("skip=period:3,server_skip=period:8", 1), (Counts{0, 0, 2}));
  EXPECT_EQ(up("skip=period:3,server_skip=period:8", 2), (Counts{0, 2, 2}));
  EXPECT_EQ(up("skip=period:3,server_skip=period:8,stagger=no", 2), (Counts{0, 0, 0}));
  EXPECT_EQ(up("skip=period:3", 2), (Counts{0, 0, 0}))
      << "the servers skip as the workers do, if nothing is said";
  EXPECT_EQ(up("skip=period:3,stagger", 2), (Counts{0, 2, 2}));
  EXPECT_EQ(up("skip=period:3", 3), Counts(3, 2 + 2));
}

TEST(CompSkip, RandomSkipsHaveTheRateThatWasAskedForAndNeverExceedTheLimit) {
  const auto spoken =
      [](const std::string& options) {  // by 2 workers in 200 steps; the servers speak in every one
        std::uint64_t all = 0;
        for (const auto each : bytes_of_steps(options + ",up=topk:ratio=0.01+min=0,server_skip=never", 200))
          all += each / (4 + 4 + 8 * 8) - 200;
        return all;
      };
  EXPECT_NEAR(static_cast<double>(spoken("skip=random:0.75,limit=1000000000")), 100, 30);
  EXPECT_GE(spoken("skip=random:0.999,limit=4"), 400U / 5);
}

TEST(CompSkip, WorkersAndServersAreSilentAtRandomApartFromEachOther) {
  with_replicas({.strategy = "compskip:skip=random:0.5,server_skip=random:0.5,stagger=no", .ranks = 2},
                [](Replica& r, Strategy& s) {
                  const auto sent = [&] { return r.comm().ledger().sent(Tag::Lane::kTrain).messages; };
                  std::vector<int> steps(3);  // by messages sent: none, in one direction, in both
                  for (std::int64_t t = 0; t < 60; ++t) {
                    const std::uint64_t before = sent();
                    take_steps(r, s, t, t + 1);
                    ++steps.at(sent() - before);
                  }
                  s.finish(r);
                  EXPECT_GT(steps[0], 5);
                  EXPECT_GT(steps[1], 15);
                  EXPECT_GT(steps[2], 5);
                });
}

}  // namespace
}  // namespace tacit::test
