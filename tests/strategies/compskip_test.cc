// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/refusal.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit::test {
namespace {

// Nobody is silent, nothing is compressed.
const std::string kOpen = "compskip:up=identity,down=identity,skip=never,server_skip=never";

TEST(CompSkip, ThatSaysEverythingIsSynchronousSgd) {
  for (const int ranks : {1, 3, 4})
    for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov"}) {
      const ReplicaCase c{.strategy = kOpen, .ranks = ranks, .optimizer = optimizer};
      ReplicaCase sync = c;
      sync.strategy = "ssgd";
      expect_near(run_replicas(c)[0], run_replicas(sync)[0], 5e-6F);
    }
}

// dist-EF-SGD rescales its residuals by eta_{t-1}/eta_t where these have eta in them: the same thing when eta changes.
TEST(CompSkip, ThatNeverSkipsIsTheCompressedMeanWithErrorFeedbackOnBothSides) {
  for (const int ranks : {2, 3}) {
    ReplicaCase c{.strategy = "compskip:skip=never,server_skip=never",
                  .ranks = ranks,
                  .compress = "topk:ratio=0.1,ef,min=0,via=scatter"};
    c.lr = [](std::int64_t t) { return t < 7 ? 0.1F : t < 14 ? 0.01F : 0.03F; };
    const Weights ours = run_replicas(c);
    c.strategy = "ssgd";
    c.compress += ",answer=1";
    expect_near(ours[0], run_replicas(c)[0], 5e-6F);
  }
}

// The sum of k steps' gradients, taken where the first of them was, is one step of k times eta.
TEST(CompSkip, ThatSkipsAlikeOnBothSidesAccumulatesGradients) {
  constexpr std::int64_t kPeriod = 4;
  const ReplicaCase c{.strategy = "compskip:up=identity,skip=period:4,server_skip=period:4,stagger=no",
                      .ranks = 3,
                      .steps = 3 * kPeriod};
  const Weights ours = run_replicas(c);
  ReplicaCase reference = c;
  reference.strategy = "ssgd";
  std::vector<float> accumulated;
  with_replicas(reference, [&](Replica& r, Strategy&) {
    std::vector<float> sum(c.parameters);
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      r.compute();
      kernels::add(r.gradient(), sum);
      if ((t + 1) % kPeriod != 0) continue;
      r.comm().mean(sum);
      r.apply(sum);
      sum.assign(c.parameters, 0.0F);
    }
    if (r.rank() == 0) accumulated = weights_of(r);
  });
  expect_near(ours[0], accumulated, 5e-6F);
}

// What the ranks and the servers have not said yet, as the saved state has it.
struct Unsaid {
  std::vector<float> worker;
  std::vector<float> server;  // of its shard
};
Unsaid unsaid(Replica& r, Strategy& s) {
  StateWriter writer;
  s.save(r, writer);
  StateReader state(writer.bytes());
  state.number("compskip.seed");
  for (int side = 0; side < 2; ++side) {
    std::vector<std::uint64_t> silent(state.number("skip.ranks"));
    state.read("skip.silent", std::as_writable_bytes(std::span(silent)));
    state.floats("skip.one_step");
  }
  Unsaid u;
  state.floats("mean.last_lr");
  state.floats("momentum");
  u.worker = state.floats("feedback.residual");
  state.floats("feedback.velocity");
  u.server = state.floats("feedback.residual");
  return u;
}

// x + (1/P) sum e_i + e_s.
std::vector<float> virtual_iterate(Replica& r, Strategy& s) {
  const Unsaid u = unsaid(r, s);
  std::vector<float> all = u.worker;
  r.comm().mean(all);
  std::vector<float> servers(all.size());
  copy(u.server, part(FloatView(servers), chunk(all.size(), r.size(), r.rank())));
  r.comm().sum(servers);
  kernels::add(servers, all);
  kernels::add(r.params(), all);
  return all;
}

// x + (1/P) sum e_i + e_s, with their eta in them, is where exact SGD would be with the same gradients. Momentum comes
// before the compressor: each rank's own is in what it says, so that their mean is the momentum of the mean.
TEST(CompSkip, TheVirtualIterateIsExactSgdForEverySkipPattern) {
  constexpr float kMomentum = 0.8F;
  for (const char* skips :
       {"skip=never,server_skip=never", "skip=period:3,server_skip=period:2", "skip=period:4,stagger=no",
        "skip=random:0.6,server_skip=random:0.5", "skip=magnitude:2,server_skip=magnitude:1.5",
        "skip=random:0.9,server_skip=never,limit=2"})
    for (const char* compressors : {"up=topk:ratio=0.05+min=0,down=topk:ratio=0.1+min=0",
                                    "up=onebit:block=16+min=0", "up=identity+min=0"})
      for (const char* optimizer : {"sgd", "sgd:momentum=0.8", "sgd:momentum=0.8,nesterov"}) {
        ReplicaCase c{.strategy = std::string("compskip:") + skips + "," + compressors,
                      .ranks = 3,
                      .steps = 15,
                      .optimizer = optimizer};
        c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
        const bool moves = c.optimizer != "sgd";
        const bool nesterov = c.optimizer.ends_with("nesterov");
        with_replicas(c, [&](Replica& r, Strategy& s) {
          std::vector<float> exact = weights_of(r);
          std::vector<float> velocity(c.parameters);
          for (std::int64_t t = 0; t < c.steps; ++t) {
            r.set_t(t);
            r.compute();
            std::vector<float> g(r.gradient().host().begin(), r.gradient().host().end());
            r.comm().mean(g);
            for (std::size_t i = 0; i < c.parameters; ++i) {
              velocity[i] = (moves ? kMomentum : 0) * velocity[i] + g[i];
              exact[i] -= r.lr() * (nesterov ? g[i] + kMomentum * velocity[i] : velocity[i]);
            }
            s.step(r);
            const std::vector<float> there = virtual_iterate(r, s);
            for (std::size_t i = 0; i < there.size(); ++i)
              ASSERT_NEAR(there[i], exact[i], 3e-5F)
                  << c.strategy << " with " << optimizer << ", step " << t << ", parameter " << i;
          }
          s.finish(r);
        });
      }
}

// A gradient that stays the same: what k silent steps gather is k times as long as what one brings. Two thirds of the
// threshold are reached with two, and squares of lengths would have it then.
TEST(CompSkip, MagnitudeIsTheLengthOfWhatWasGathered) {
  // How far the weights have come after every step, in steps of the first gradient, which grows tenfold at that step.
  const auto spoke = [](const std::string& skips, std::int64_t tenfold = 9) {
    std::vector<float> moved;
    const ReplicaCase c{.strategy = "compskip:up=identity+min=0," + skips, .ranks = 2};
    with_replicas(c, [&](Replica& r, Strategy& s) {
      const float start = r.params().host()[5];
      for (std::int64_t t = 0; t < 9; ++t) {
        r.set_t(t);
        kernels::fill(t < tenfold ? 1.0F : 10.0F, r.gradient());
        s.step(r);
        if (r.rank() == 0) moved.push_back(std::round((start - r.params().host()[5]) / r.lr()));
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

TEST(CompSkip, AnUpdateThatIsNotFiniteIsRefusedBeforeAnythingIsSentOrKept) {
  with_replicas({.strategy = "compskip:skip=never", .ranks = 2}, [](Replica& r, Strategy& s) {
    take_steps(r, s, 0, 3);
    const Unsaid before = unsaid(r, s);
    const std::uint64_t sent = r.comm().ledger().sent(Tag::Lane::kTrain).payload;
    r.set_t(3);
    r.compute();
    r.gradient().host()[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(s.step(r), Diverged);
    EXPECT_EQ(r.comm().ledger().sent(Tag::Lane::kTrain).payload, sent);
    EXPECT_EQ(unsaid(r, s).worker, before.worker);
    EXPECT_EQ(unsaid(r, s).server, before.server);
  });
}

TEST(CompSkip, ReachesWhatSynchronousSgdReaches) {
  for (const char* options :
       {"", ":up=onebit:block=64+min=64", ":up=topk:ratio=0.1+min=64,skip=random:0.5"}) {
    TrainCase c{.strategy = std::string("compskip") + options,
                .ranks = 2,
                .steps = 80,
                .optimizer = "sgd:momentum=0.9",
                .lr = 0.03};
    const Trained run = train(c);
    c.strategy = "ssgd";
    EXPECT_GT(*run.summary.accuracy, *train(c).summary.accuracy - 0.05) << options;
  }
}

TEST(CompSkip, ResumesBitForBit) {
  for (const char* skips :
       {"skip=period:3,server_skip=period:2", "skip=random:0.5,server_skip=random:0.5,limit=3",
        "skip=magnitude:2,server_skip=magnitude:2,limit=4"}) {
    ReplicaCase c{
        .strategy = std::string("compskip:up=topk:ratio=0.1+min=60,down=onebit:block=16+min=60,") + skips,
        .ranks = 3,
        .steps = 13,
        .optimizer = "sgd:momentum=0.9"};
    const Weights whole = run_replicas(c);
    for (const std::int64_t at : {0, 4, 9})
      EXPECT_EQ(run_resumed(c, at), whole) << skips << ", saved after " << at;
  }
  const ReplicaCase few{.strategy = "compskip", .ranks = 4, .steps = 6, .parameters = 20};  // empty shards
  EXPECT_EQ(run_resumed(few, 3), run_replicas(few));
}

TEST(CompSkip, BadOptionsAreRefused) {
  const auto why = [](const std::string& options, const char* compress = "") {
    return refusal([&] { make_strategy(builtin_strategies(), "compskip:" + options, 4, compress); });
  };
  EXPECT_NE(why("skip=sometimes").find("unknown skip schedule 'sometimes'"), std::string::npos);
  EXPECT_NE(why("skip=perod:2").find("did you mean 'period'?"), std::string::npos);
  EXPECT_NE(why("skip=period:0").find("at least 1"), std::string::npos);
  EXPECT_NE(why("skip=period:2.5").find("whole number"), std::string::npos);
  EXPECT_NE(why("skip=period:20,limit=8").find("limit=8"), std::string::npos);
  EXPECT_NE(why("server_skip=random:1").find("server_skip=random:1"), std::string::npos);
  EXPECT_NE(why("server_skip=random").find("probability"), std::string::npos);
  EXPECT_NE(why("skip=magnitude:-1").find("magnitude:THETA"), std::string::npos);
  EXPECT_NE(why("skip=never:3").find("no number"), std::string::npos);
  EXPECT_NE(why("up=powersgd").find("silent"), std::string::npos);
  EXPECT_NE(why("down=terngrad").find("larger"), std::string::npos);
  EXPECT_NE(why("up=topk:ratio=0.1+dgc").find("dgc"), std::string::npos);
  EXPECT_NE(why("up=topk:ratio=0.1+via=gather").find("via"), std::string::npos);
  EXPECT_NE(why("up=topk:answer=3").find("give down="), std::string::npos);
  EXPECT_NE(why("up=topkk").find("topkk"), std::string::npos);
  EXPECT_NE(why("up=topk", "onebit").find("compressor onebit"), std::string::npos);
  EXPECT_NE(why("limit=4", "powersgd,ef").find("powersgd"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
