// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
    ReplicaCase c{.strategy = "compskip:skip=never,server_skip=never,ahead=0",
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
  const ReplicaCase c{
      .strategy = "compskip:up=identity,skip=period:4,server_skip=period:4,stagger=no,ahead=0",
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

TEST(CompSkip, ThatSkipsAlikeOnBothSidesIsLocalSgdWithItsOptimizer) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.8", "adam"}) {
    ReplicaCase c{.strategy = "compskip:up=identity,skip=period:4,ahead=1", .ranks = 3, .optimizer = optimizer};
    const Weights ours = run_replicas(c);
    c.strategy = "local:period=4";
    expect_near(ours[0], run_replicas(c)[0], 1e-5F);
  }
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
  state.floats("compskip.x");
  Unsaid u;
  state.floats("mean.last_lr");
  state.floats("momentum");
  u.worker = state.floats("feedback.residual");
  state.floats("feedback.velocity");
  u.server = state.floats("feedback.residual");
  return u;
}

// Where a worker computes: at what all have, and what it has not said.
TEST(CompSkip, AGradientKnowsOfWhatItsWorkerHasNotSent) {
  for (const float ahead : {0.0F, 0.25F, 1.0F}) {
    const ReplicaCase c{.strategy = "compskip:up=topk:ratio=0.05+min=0,ahead=" + std::to_string(ahead),
                        .ranks = 3};
    with_replicas(c, [&](Replica& r, Strategy& s) {
      for (std::int64_t t = 0; t < 7; ++t) {
        take_steps(r, s, t, t + 1);
        std::vector<float> there(c.parameters);
        s.model(r, there);
        kernels::axpy(ahead, unsaid(r, s).worker, there);
        expect_near(weights_of(r), there, 1e-6F);
      }
      s.finish(r);
    });
  }
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
  std::vector<float> model(all.size());
  s.model(r, model);
  kernels::add(model, all);
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
      for (const char* optimizer : {"sgd", "sgd:momentum=0.8", "sgd:momentum=0.8,nesterov"})
        for (const char* ahead : {"0", "1"}) {
          ReplicaCase c{.strategy = std::string("compskip:") + skips + "," + compressors + ",ahead=" + ahead,
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
