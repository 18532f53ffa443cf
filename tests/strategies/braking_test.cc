// SPDX-License-Identifier: MIT
// Adaptive braking, the option of every strategy that applies gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "support/refusal.h"
#include "support/replicas.h"
#include "support/train.h"

namespace tacit::test {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double kMomentum = 0.9;
constexpr double kLr = 0.1;

Floats gradient_of_step(std::int64_t t, std::size_t n) {
  Rng rng(5, 0, t, Rng::Use::kMinibatch);
  Floats g(n);
  for (float& x : g) x = rng.normal() + 0.3F;  // so that gradients and momentum agree more often than not
  return g;
}

// How far a rank alone comes with so many such gradients.
Floats braked(const std::string& strategy, std::int64_t steps, std::size_t n, std::vector<Slice>& tensors) {
  const ReplicaCase c{.strategy = strategy, .ranks = 1, .optimizer = "sgd:momentum=0.9", .parameters = n};
  Floats end;
  with_replicas(c, [&](Replica& replica, Strategy& s) {
    tensors.assign(replica.tensors().begin(), replica.tensors().end());
    const Floats start = weights_of(replica);
    for (std::int64_t t = 0; t < steps; ++t) {
      replica.set_t(t);
      copy(gradient_of_step(t, n), replica.gradient());
      s.step(replica);
    }
    s.finish(replica);
    end = weights_of(replica);
    for (std::size_t i = 0; i < n; ++i) end[i] -= start[i];
  });
  return end;
}

// The same by the formulas, in double: c = <g, v> / (|g| |v|), v <- mu v + (1 - rho c) g, w <- w - eta v.
Doubles by_hand(double rho, std::int64_t steps, std::size_t n, const std::vector<Slice>& tensors) {
  Doubles w(n, 0.0);
  Doubles v(n, 0.0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const Floats g = gradient_of_step(t, n);
    for (const Slice& tensor : tensors) {
      double gv = 0;
      double gg = 0;
      double vv = 0;
      for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
        gv += static_cast<double>(g[i]) * v[i];
        gg += static_cast<double>(g[i]) * static_cast<double>(g[i]);
        vv += v[i] * v[i];
      }
      const double c = vv > 0 ? gv / std::sqrt(gg * vv) : 0;
      for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
        v[i] = kMomentum * v[i] + (1 - rho * c) * static_cast<double>(g[i]);
    }
    for (std::size_t i = 0; i < n; ++i) w[i] -= kLr * v[i];
  }
  return w;
}

void expect_near(const Floats& got, const Doubles& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(static_cast<double>(got[i]), want[i], bound) << i;
}

std::string with_braking_of(const std::string& strategy, const std::string& rho) {
  return strategy + (strategy.find(':') == std::string::npos ? ":" : ",") + "braking=" + rho;
}

TEST(Braking, OfZeroIsTheStrategyItselfToTheBit) {
  const auto check = [](const std::string& strategy, int ranks) {
    ReplicaCase c{.strategy = strategy, .ranks = ranks, .optimizer = "sgd:momentum=0.9"};
    const Weights plain = run_replicas(c);
    c.strategy = with_braking_of(strategy, "0");
    EXPECT_EQ(run_replicas(c), plain) << strategy;
    c.strategy = with_braking_of(strategy, "2");
    EXPECT_NE(run_replicas(c), plain) << strategy;
  };
  for (const char* strategy : {"ssgd", "local:period=3", "dc_s3gd", "ssd:warmup=4,delay=2", "compskip",
                               "slowmo:period=3", "diloco:period=3", "dpsgd", "sgp"})
    check(strategy, 4);
  for (const char* strategy : {"gossip", "wagma", "eager", "easgd", "asgd"}) check(strategy, 1);
}

TEST(Braking, FollowsTheFormulaTensorByTensor) {
  std::vector<Slice> tensors;
  for (const double rho : {0.5, 2.0}) {
    const Floats got = braked(with_braking_of("ssgd", rho == 2 ? "2" : "0.5"), 7, 30, tensors);
    ASSERT_EQ(tensors.size(), 2U);
    expect_near(got, by_hand(rho, 7, 30, tensors), 1e-4);
  }
}

// All seven steps are among the synchronous ones of the start, which the servers' optimiser takes.
TEST(Braking, FollowsItOnServersShardByShard) {
  std::vector<Slice> tensors;
  const Floats got = braked("ssd:warmup=100,braking=0.5", 7, 30, tensors);
  expect_near(got, by_hand(0.5, 7, 30, {{0, 30}}), 1e-4);
}

TEST(Braking, ShrinksWhatGoesWithTheMomentumAndStrengthensWhatGoesAgainstIt) {
  for (const float direction : {1.0F, -1.0F}) {
    const ReplicaCase c{
        .strategy = "ssgd:braking=0.25", .ranks = 1, .optimizer = "sgd:momentum=0.5", .parameters = 4};
    with_replicas(c, [&](Replica& replica, Strategy& s) {
      copy(Floats(4, 0.0F), replica.params());
      copy(Floats(4, 1.0F), replica.gradient());
      s.step(replica);  // nothing to compare with yet: v = 1, w = -0.1
      replica.set_t(1);
      copy(Floats(4, direction), replica.gradient());
      s.step(replica);  // v = 0.5 + (1 - 0.25 c) direction, with c = direction
      const float v = 0.5F + (1 - 0.25F * direction) * direction;
      expect_near(weights_of(replica), Doubles(4, -0.1 - 0.1 * static_cast<double>(v)), 1e-6);
      s.finish(replica);
    });
  }
}

TEST(Braking, IsTakenByEveryStrategy) {
  for (const StrategyInfo& info : builtin_strategies().all()) {
    const ReplicaCase c{.strategy = info.name + ":braking=1", .steps = 8, .optimizer = "sgd:momentum=0.9"};
    const Weights all = run_replicas(c);
    for (const Floats& rank : all) {
      EXPECT_EQ(rank, all[0]) << info.name;
      for (const float x : rank) ASSERT_TRUE(std::isfinite(x)) << info.name;
    }
  }
}

TEST(Braking, NeedsTheMomentumOfSgd) {
  for (const char* optimizer : {"sgd", "adam"})
    for (const char* strategy : {"ssgd:braking=2", "ssd:braking=2"}) {
      const std::string why = refusal([&] { run_replicas({.strategy = strategy, .optimizer = optimizer}); });
      EXPECT_NE(why.find("braking=2"), std::string::npos) << why;
      EXPECT_NE(why.find("sgd:momentum"), std::string::npos) << why;
    }
}

TEST(Braking, ResumesToTheBit) {
  for (const char* strategy : {"ssgd:braking=2", "local:period=3,braking=1", "dc_s3gd:braking=1",
                               "ssd:warmup=4,delay=2,braking=1", "compskip:braking=1"}) {
    const ReplicaCase c{.strategy = strategy, .steps = 12, .optimizer = "sgd:momentum=0.9"};
    EXPECT_EQ(run_resumed(c, 7), run_replicas(c)) << strategy;
  }
}

TEST(Braking, TrainsThroughTheTrainer) {
  const Trained run = train({.strategy = "dc_s3gd:braking=1",
                             .steps = 40,
                             .global_batch = 120,
                             .optimizer = "sgd:momentum=0.9",
                             .lr = 0.02});
  EXPECT_LT(*run.summary.loss, 0.6 * run.first_loss);
  EXPECT_GT(*run.summary.accuracy, 0.8);
}

}  // namespace
}  // namespace tacit::test
