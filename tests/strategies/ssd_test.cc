// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(Ssd, WithOneWorkerIsItsOptimizerForEveryDelay) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov,weight_decay=0.01", "adamw"}) {
    TrainCase c{.strategy = "ssgd", .ranks = 1, .optimizer = optimizer, .lr = 0.01};
    const Trained plain = train(c);
    for (const char* delay : {"1", "3", "7"}) {
      c.strategy = std::string("ssd:warmup=2,delay=") + delay;
      EXPECT_EQ(train(c).params[0], plain.params[0]) << optimizer << ", " << delay;
      if (c.optimizer != "sgd") continue;
      c.strategy += ",local=glu,alpha=1,beta=0,local_lr=1";
      EXPECT_EQ(train(c).params[0], plain.params[0]) << delay;
    }
  }
}

TEST(Ssd, WhereAllHaveTheSameGradientsIsSynchronousSgdOnServers) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
    ReplicaCase c{.strategy = "ssd:warmup=3,delay=4,servers=2", .ranks = 2, .optimizer = optimizer};
    const auto end_of = [&] {
      std::vector<float> end;
      with_replicas(c, [&](Replica& replica, Strategy& s) {
        for (std::int64_t t = 0; t < 15; ++t) {
          replica.set_t(t);
          replica.compute_of(0);
          s.step(replica);
        }
        s.finish(replica);
        if (replica.rank() == 0) end = weights_of(replica);
      });
      return end;
    };
    const std::vector<float> ssd = end_of();
    c.strategy = "ssgd:servers=2";
    EXPECT_EQ(ssd, end_of()) << optimizer;
  }
}

// Where the optimiser is linear in the gradients: what a worker is off is its own gradients' noise. A momentum that is in
// front of a compressor is in the workers' steps as well.
TEST(Ssd, TheMeanOfTheWorkersIsWhereTheServersAre) {
  struct Form {
    const char* optimizer;
    const char* compress;
  };
  for (const auto& [optimizer, compress] :
       {Form{"sgd", ""}, Form{"sgd:momentum=0.8,weight_decay=0.05", ""},
        Form{"sgd:momentum=0.8,nesterov", ""}, Form{"sgd:momentum=0.8", "topk:ratio=1,ef,min=0"},
        Form{"sgd", "topk:ratio=1,ef,momentum=0.8,min=0"},
        Form{"sgd:momentum=0.8,weight_decay=0.05", "topk:ratio=1,ef,min=0"},
        Form{"sgd:weight_decay=0.05", "topk:ratio=1,ef,momentum=0.8,min=0"}}) {
    ReplicaCase c{
        .strategy = "ssd:warmup=3,delay=4", .ranks = 3, .optimizer = optimizer, .compress = compress};
    with_replicas(c, [&](Replica& r, Strategy& s) {
      for (std::int64_t t = 0; t < 17; ++t) {
        take_steps(r, s, t, t + 1);
        std::vector<float> mean = weights_of(r);
        r.control().mean(mean);
        std::vector<float> servers(c.parameters);
        s.model(r, servers);
        expect_near(mean, servers, 5e-6F);
        if (HasFailure()) FAIL() << optimizer << ", " << compress << ", step " << t;
      }
      s.finish(r);
    });
  }
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
          replica.gradient().host()[i] = static_cast<float>(i) - static_cast<float>(t * (replica.rank() + 1));
        s.step(replica);
      }
      s.finish(replica);
      if (replica.rank() == 0) end = weights_of(replica);
    });
    return end;
  };
  const std::vector<float> still = servers_end("local=glu,local_lr=0");
  EXPECT_EQ(servers_end("local=optimizer"), still);
  EXPECT_EQ(servers_end("local=glu,alpha=2,beta=0.5"), still);
  EXPECT_EQ(servers_end("local=glu,alpha=0,beta=3,local_lr=2,local_decay=1"), still);
}

// local_lr=0: a worker computes at the weights of its last pull, which it uses one gradient late.
TEST(Ssd, WithoutLocalStepsIsSynchronousSgdWithGradientsUpToDelayStepsStale) {
  const ReplicaCase c{.strategy = "ssd:warmup=4,delay=3,local=glu,local_lr=0", .ranks = 2, .steps = 16};
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
      std::vector<float> g(r.gradient().host().begin(), r.gradient().host().end());
      r.comm().mean(g);
      kernels::axpy(-r.lr(), g, server);
      if ((t + 1) % 3 == 0) asked = server;
      if (t < 4) copy(server, r.params());
    }
    stale[static_cast<std::size_t>(r.rank())] = server;
  });
  for (std::size_t i = 0; i < c.parameters; ++i) ASSERT_NEAR(ssd[0][i], stale[0][i], 2e-6F) << i;
}

// The whole algorithm again, in doubles and in one thread: servers with momentum and weight decay, workers that pull
// every `delay` steps and use what they pulled one gradient late. No two of its numbers are equal, and the number of
// ranks is none of them.
class SsdByHand {
 public:
  static constexpr int kRanks = 3;
  static constexpr std::int64_t kWarmup = 5, kDelay = 4;
  static constexpr double kAlpha = 1.7, kBeta = 0.6, kLocalLr = 0.8, kLocalDecay = 0.5;
  static constexpr double kMomentum = 0.6, kWeightDecay = 0.05;

  using Vector = std::vector<double>;
  explicit SsdByHand(const std::vector<float>& start)
      : server(start.begin(), start.end()),
        local(kRanks, server),
        velocity_(start.size()),
        asked_(server),
        before_(server),
        direction_(start.size()) {}

  // It rises and falls, and the peak is in the stage of delays.
  static double lr(std::int64_t t) {
    return t < 9 ? 0.04 + 0.01 * static_cast<double>(t) : t < 17 ? 0.05 : 0.02;
  }
  static double gradient(int rank, std::int64_t t, std::size_t i, double x) {
    const auto place = static_cast<double>(i % 7) - rank;
    return 0.5 * (x - 0.2 * place) +
           0.3 * std::sin(static_cast<double>(i) + static_cast<double>(5 * t) + rank);
  }

  void step(std::int64_t t) {
    const double eta = lr(t);
    std::vector<Vector> g = local;
    for (int r = 0; r < kRanks; ++r)
      for (std::size_t i = 0; i < server.size(); ++i) at(g, r)[i] = gradient(r, t, i, at(local, r)[i]);
    if (t > 0 && t % kDelay == 0) take_what_was_asked_for();
    for (std::size_t i = 0; i < server.size(); ++i) {
      const double mean = (g[0][i] + g[1][i] + g[2][i]) / 3;
      velocity_[i] = kMomentum * velocity_[i] + mean + kWeightDecay * server[i];
      server[i] -= eta * velocity_[i];
    }
    since_ += eta;
    if ((t + 1) % kDelay == 0) asked_ = server;
    if (t < kWarmup) {
      local.assign(kRanks, server);
      return;
    }
    peak_ = std::max(peak_, eta);
    const double rate = kLocalLr * eta * std::pow(eta / peak_, kLocalDecay);
    for (int r = 0; r < kRanks; ++r)
      for (std::size_t i = 0; i < server.size(); ++i)
        at(local, r)[i] -= rate * (kAlpha / (1 - kMomentum) * at(g, r)[i] + kBeta * direction_[i]);
  }

  Vector server;
  std::vector<Vector> local;  // by rank

 private:
  static Vector& at(std::vector<Vector>& all, int rank) { return all[static_cast<std::size_t>(rank)]; }
  void take_what_was_asked_for() {
    for (std::size_t i = 0; i < server.size(); ++i) direction_[i] = (before_[i] - asked_[i]) / since_;
    before_ = asked_;
    local.assign(kRanks, asked_);
    since_ = 0;
  }

  Vector velocity_;
  Vector asked_;      // the last pull
  Vector before_;     // the one before, or the start
  Vector direction_;  // of the servers between the two, per unit of learning rate
  double since_ = 0;  // learning rates since the last pull
  double peak_ = 0;
};

TEST(Ssd, IsTheAlgorithmWrittenOut) {
  using Hand = SsdByHand;
  const auto text = [](double x) { return std::to_string(x); };
  for (const char* servers : {"1", "2", "3"}) {
    ReplicaCase c{
        .strategy = "ssd:warmup=5,delay=4,local=glu,alpha=" + text(Hand::kAlpha) +
                    ",beta=" + text(Hand::kBeta) + ",local_lr=" + text(Hand::kLocalLr) +
                    ",local_decay=" + text(Hand::kLocalDecay) + ",servers=" + servers,
        .ranks = Hand::kRanks,
        .optimizer = "sgd:momentum=" + text(Hand::kMomentum) + ",weight_decay=" + text(Hand::kWeightDecay)};
    c.lr = [](std::int64_t t) { return static_cast<float>(Hand::lr(t)); };
    with_replicas(c, [&](Replica& r, Strategy& s) {
      Hand hand(weights_of(r));
      const Hand::Vector& mine = hand.local[static_cast<std::size_t>(r.rank())];
      for (std::int64_t t = 0; t < 26; ++t) {
        r.set_t(t);
        for (std::size_t i = 0; i < c.parameters; ++i)
          r.gradient().host()[i] =
              static_cast<float>(Hand::gradient(r.rank(), t, i, static_cast<double>(r.params().host()[i])));
        s.step(r);
        hand.step(t);
        for (std::size_t i = 0; i < c.parameters; ++i)
          ASSERT_NEAR(r.params().host()[i], mine[i], 5e-6) << "step " << t << ", parameter " << i;
        if (t % 5 != 1) continue;  // in warm-up, after a step that pulled, after ones that did not
        std::vector<float> model(c.parameters);
        s.model(r, model);
        for (std::size_t i = 0; i < c.parameters; ++i)
          ASSERT_NEAR(model[i], hand.server[i], 5e-6) << "step " << t;
      }
      s.finish(r);
      for (std::size_t i = 0; i < c.parameters; ++i)
        ASSERT_NEAR(r.params().host()[i], hand.server[i], 5e-6) << i;
    });
  }
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
      // Up: a header and half of the vector to the other's shard. Pull: a header. Down: the own shard, to the other. At
      // the end everyone gets the other's shard once more.
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
    s.save(replica, state);  // waits for what is under way
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
  for (const auto& [optimizer, local] :
       {std::pair{"sgd:momentum=0.9", "optimizer"}, {"adam", "optimizer"}, {"adam", "glu,local_decay=1"}}) {
    ReplicaCase c{.strategy = "ssd:warmup=4,delay=3,servers=2,local=", .ranks = 3, .steps = 13};
    c.strategy += local;
    c.optimizer = optimizer;
    c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
    const Weights whole = run_replicas(c);
    // In warm-up, after a step that pulled, after one that did not.
    for (const std::int64_t at : {0, 2, 6, 10})
      EXPECT_EQ(run_resumed(c, at), whole) << c.strategy << ", saved after " << at;
  }
}

TEST(Ssd, BadOptionsAreRefused) {
  const auto why = [](const std::string& spec, const char* compress = "") {
    return refusal([&] { make_strategy(builtin_strategies(), spec, 4, compress); });
  };
  EXPECT_NE(why("ssd:delay=0").find("delay=0"), std::string::npos);
  EXPECT_NE(why("ssd:servers=5").find("4 workers"), std::string::npos);
  EXPECT_NE(why("ssd:servers=0").find("servers=0"), std::string::npos);
  EXPECT_NE(why("ssd:local=glu,local_lr=-1").find("local_lr=-1"), std::string::npos);
  EXPECT_EQ(why("ssd:alpha=1"), "ssd: alpha goes with local=glu alone; leave it out");
  EXPECT_NE(why("ssd:local=gul").find("gul"), std::string::npos);
  EXPECT_NE(why("ssd", "powersgd,ef").find("among workers"), std::string::npos);
  EXPECT_NE(why("ssd", "topk:ratio=0.1,ef,via=scatter").find("leave via out"), std::string::npos);
  EXPECT_NE(why("ssd", "topk:ratio=0.1,ef,answer=2").find("leave answer out"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
