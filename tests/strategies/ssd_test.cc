// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/refusal.h"
#include "support/replicas.h"
#include "support/train.h"

namespace tacit::test {
namespace {

TEST(Ssd, ThatNeverLeavesItsWarmUpIsSynchronousSgdOnServersBitForBit) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov,weight_decay=0.01", "adamw"})
    for (const int servers : {1, 3}) {
      const std::string k = std::to_string(servers);
      TrainCase c{.strategy = "ssd:warmup=1000000000,servers=" + k,
                  .ranks = 3,
                  .steps = 12,
                  .global_batch = 30,
                  .optimizer = optimizer,
                  .lr = 0.01,
                  .schedule = "cosine"};
      const Trained ssd = train(c);
      c.strategy = "ssgd:servers=" + k;
      EXPECT_EQ(ssd.params[0], train(c).params[0]) << optimizer << ", " << k << " servers";
    }
}

TEST(Ssd, WithOneWorkerAndNothingButItsGradientIsPlainSgdForEveryDelay) {
  const Trained plain = train({.strategy = "ssgd", .ranks = 1});
  for (const char* delay : {"1", "3", "7"})
    EXPECT_EQ(
        train({.strategy = std::string("ssd:warmup=2,alpha=1,beta=0,local_lr=1,delay=") + delay, .ranks = 1})
            .params[0],
        plain.params[0]);
}

// Gradients that do not depend on the weights: whatever workers do with their own copies, the servers see the same.
TEST(Ssd, TheServersDependOnWorkersThroughTheirGradientsAlone) {
  const auto servers_end = [](const std::string& local) {
    ReplicaCase c{.strategy = "ssd:warmup=3,delay=4," + local, .ranks = 3, .optimizer = "sgd:momentum=0.9"};
    c.parameters = 64;
    std::vector<float> end;
    with_replicas(c, [&](Replica& replica, Strategy& s) {
      for (std::int64_t t = 0; t < 15; ++t) {
        replica.set_t(t);
        for (std::size_t i = 0; i < c.parameters; ++i)
          replica.gradient()[i] = static_cast<float>(i) - static_cast<float>(t * (replica.rank() + 1));
        s.step(replica);
      }
      s.finish(replica);
      if (replica.rank() == 0) end = weights_of(replica);
    });
    return end;
  };
  const std::vector<float> still = servers_end("local_lr=0");
  EXPECT_EQ(servers_end("alpha=2,beta=0.5"), still);
  EXPECT_EQ(servers_end("alpha=0,beta=3,local_lr=2,local_decay=1"), still);
}

// local_lr=0: a worker computes at the weights of its last pull, which it uses one gradient late.
TEST(Ssd, WithoutLocalStepsIsSynchronousSgdWithGradientsUpToDelayStepsStale) {
  const ReplicaCase c{.strategy = "ssd:warmup=4,delay=3,local_lr=0", .ranks = 2, .steps = 16};
  const Weights ssd = run_replicas(c);
  Weights stale(2);
  ReplicaCase reference = c;
  reference.strategy = "ssgd";
  with_replicas(reference, [&](Replica& r, Strategy&) {
    std::vector<float> server = weights_of(r);
    std::vector<float> asked = server;
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      r.compute();  // at params(), which follow the server below
      if (t > 0 && t % 3 == 0) copy(asked, r.params());
      std::vector<float> g(r.gradient().begin(), r.gradient().end());
      r.comm().mean(g);
      kernels::axpy(-r.lr(), g, server);
      if ((t + 1) % 3 == 0) asked = server;
      if (t < 4) copy(server, r.params());
    }
    stale[static_cast<std::size_t>(r.rank())] = server;
  });
  for (std::size_t i = 0; i < c.parameters; ++i) ASSERT_NEAR(ssd[0][i], stale[0][i], 2e-6F) << i;
}

// The local rule written out: every worker's own weights after every step.
TEST(Ssd, MovesItsOwnWeightsByItsGradientAndTheServersDirection) {
  const ReplicaCase c{.strategy = "ssd:warmup=2,delay=3,alpha=2,beta=0.5,local_lr=0.7",
                      .ranks = 2,
                      .optimizer = "sgd:momentum=0.5"};
  with_replicas(c, [&](Replica& r, Strategy& s) {
    std::vector<std::vector<float>> server{weights_of(r)};  // after every step
    std::vector<float> local = server[0];
    for (std::int64_t t = 0; t < 14; ++t) {
      r.set_t(t);
      r.compute();
      std::vector<float> g(r.gradient().begin(), r.gradient().end());
      s.step(r);
      const auto now = static_cast<std::size_t>(t);
      if (t < 2) {
        local = weights_of(r);
      } else {
        const std::size_t pulled = now / 3 * 3;  // the last pull, of step 3n - 1, has 3n steps in it
        if (now > 0 && now % 3 == 0) local = server[pulled];
        for (std::size_t i = 0; i < c.parameters; ++i) {
          const float direction = pulled < 3 ? 0 : (server[pulled - 3][i] - server[pulled][i]) / (3 * r.lr());
          local[i] -= 0.7F * r.lr() * (2 * 2 * g[i] + 0.5F * direction);
        }
        for (std::size_t i = 0; i < c.parameters; ++i)
          ASSERT_NEAR(local[i], r.params()[i], 5e-6F) << "step " << t;
      }
      server.emplace_back(c.parameters);
      s.model(r, server.back());
    }
    s.finish(r);
    EXPECT_EQ(weights_of(r), server.back());
  });
}

TEST(Ssd, PushesEveryStepAndPullsEveryDelay) {
  constexpr std::size_t kShard = 16 * 50 * sizeof(float);
  constexpr std::size_t kHeader = 32;
  for (const bool warm : {true, false}) {
    const ReplicaCase c{
        .strategy = warm ? "ssd:warmup=100" : "ssd:warmup=0,delay=5", .ranks = 2, .parameters = 1600};
    with_replicas(c, [&](Replica& replica, Strategy& s) {
      const auto sent = [&] { return replica.comm().ledger().sent(Tag::Lane::kTrain).payload; };
      replica.comm().barrier();
      const std::uint64_t before = sent();
      take_steps(replica, s, 0, 20);
      s.finish(replica);
      const std::size_t pulls = warm ? 20 : 4;
      // Up: a header and half of the vector to the other's shard. Pull: a header. Down: the own shard, to the other. At the
      // end everyone gets the other's shard once more.
      EXPECT_EQ(sent() - before, 20 * (kHeader + kShard) + pulls * (kHeader + kShard) + kShard);
    });
  }
}

TEST(Ssd, EvaluatesOnTheServersWithoutBeingChargedForIt) {
  const ReplicaCase c{.strategy = "ssd:warmup=0,delay=5", .ranks = 2};
  with_replicas(c, [&](Replica& replica, Strategy& s) {
    take_steps(replica, s, 0, 3);
    const std::vector<float> mine = weights_of(replica);
    StateWriter state;
    s.save(state);  // waits for what is under way
    replica.comm().barrier();
    std::vector<float> model(c.parameters);
    {
      const std::uint64_t before = replica.comm().ledger().sent(Tag::Lane::kTrain).payload;
      const EvaluationPoint point(replica, s);
      model = weights_of(replica);
      EXPECT_EQ(replica.comm().ledger().sent(Tag::Lane::kTrain).payload, before);
    }
    EXPECT_EQ(weights_of(replica), mine);
    EXPECT_NE(model, mine);
    std::vector<float> mean = model;
    replica.comm().mean(mean);
    EXPECT_EQ(mean, model);  // the same on both ranks
    s.finish(replica);
    EXPECT_EQ(weights_of(replica), model);
  });
}

TEST(Ssd, ReachesWhatSynchronousSgdReaches) {
  for (const char* strategy : {"ssd:warmup=10", "ssd:warmup=10,delay=2"}) {
    TrainCase c{.strategy = strategy, .ranks = 2, .steps = 60, .optimizer = "sgd:momentum=0.9", .lr = 0.05};
    const Trained run = train(c);
    c.strategy = "ssgd";
    EXPECT_GT(*run.summary.accuracy, *train(c).summary.accuracy - 0.03) << strategy;
  }
}

TEST(Ssd, ResumesBitForBit) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
    ReplicaCase c{.strategy = "ssd:warmup=4,delay=3,servers=2,local_decay=1", .ranks = 3, .steps = 13};
    c.optimizer = optimizer;
    c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
    const Weights whole = run_replicas(c);
    // In warm-up, after a step that pulled, after one that did not.
    for (const std::int64_t at : {0, 2, 6, 10}) EXPECT_EQ(run_resumed(c, at), whole) << "saved after " << at;
  }
}

TEST(Ssd, BadOptionsAreRefused) {
  const auto why = [](const std::string& spec, const char* compress = "") {
    return refusal([&] { make_strategy(builtin_strategies(), spec, 4, compress); });
  };
  EXPECT_NE(why("ssd:delay=0").find("delay=0"), std::string::npos);
  EXPECT_NE(why("ssd:servers=5").find("4 workers"), std::string::npos);
  EXPECT_NE(why("ssd:servers=0").find("servers=0"), std::string::npos);
  EXPECT_NE(why("ssd:local_lr=-1").find("local_lr=-1"), std::string::npos);
  EXPECT_NE(why("ssd", "onebit,ef").find("no compressed form"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
