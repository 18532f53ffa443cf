// SPDX-License-Identifier: MIT
// Gradients that leave while backward() computes others: the loop's user notices nothing but time.
#include <gtest/gtest.h>

#include "support/refusal.h"
#include "support/torch_loop.h"

namespace tacit::torch {
namespace {

using test::alone;
using test::kRows;
using test::loss_on;
using test::RankLoop;
using test::weights_after;
using test::weights_of;
using Weights = std::vector<float>;
namespace nn = ::torch::nn;

constexpr int kSteps = 6;
const Replicated::Options kSmall{.bucket = "64"};  // the small net has five of them

void expect_near(const std::vector<Weights>& ranks, const Weights& expected) {
  for (const Weights& w : ranks) {
    EXPECT_EQ(w, ranks[0]);
    ASSERT_EQ(w.size(), expected.size());
    for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], expected[i], 2e-5F) << i;
  }
}

Weights plain() {
  return alone(kSteps, [](auto& optimizer) { optimizer.step(); });
}

// Averages when it is told to, and keeps account of when that was.
class Told final : public Strategy {
 public:
  explicit Told(std::vector<std::string>& events) : events_(events) {}
  void start(Worker& w) override {
    Strategy::start(w);
    mean_ = w.make_mean({.sends = Sends::kGradients});
  }
  void ready(Worker& w, Slice part) override {
    if (w.rank() == 0) events_.emplace_back("ready");
    mean_->begin(w, part, w.gradient());
  }
  void step(Worker& w) override {
    mean_->mean(w, w.gradient());
    w.apply(w.gradient());
  }

 private:
  std::vector<std::string>& events_;
  std::unique_ptr<Mean> mean_;
};

TEST(Overlap, GradientsLeaveDuringBackwardFromTheSecondStepOn) {
  std::vector<std::string> events;
  StrategyRegistry known("strategy");
  known.add({.name = "told",
             .summary = "",
             .paper = "",
             .example = "told",
             .make = [&](OptionReader&, int) { return std::make_unique<Told>(events); },
             .sends = Sends::kGradients,
             .applies_last = true,
             .overlaps = true});
  World::threads(2).run([&](Process& me) {
    RankLoop t(me, "told", {.strategies = &known, .bucket = "128"});
    for (int step = 0; step < 3; ++step) {
      t.backward(step);
      if (me.rank() == 0) events.emplace_back("step");
      t.sync->step();
    }
    t.sync->finish();
  });
  // 83 parameters: the last layer, then the two halves of the first.
  const std::vector<std::string> late{"step", "ready", "ready"};
  const std::vector<std::string> early{"ready", "ready", "step"};
  std::vector<std::string> expected(late);
  for (int step = 1; step < 3; ++step) expected.insert(expected.end(), early.begin(), early.end());
  EXPECT_EQ(events, expected);
}

TEST(Overlap, IsPlainSgdOnTheWholeBatch) {
  for (const char* bucket : {"64", "128", "200", "whole", "auto"})
    expect_near(weights_after(3,
                              [](Process&, RankLoop& t) {
                                t.steps(kSteps);
                                t.sync->finish();
                              },
                              "ssgd", {.bucket = bucket}),
                plain());
}

std::vector<Weights> after_steps(int ranks, const std::string& strategy, const char* bucket) {
  return weights_after(ranks,
                       [](Process&, RankLoop& t) {
                         t.steps(kSteps);
                         t.sync->finish();
                       },
                       strategy, {.bucket = bucket});
}

TEST(Overlap, OfServersAndPartialMeansHasTheBitsItShould) {
  for (const char* ssd : {"ssd:warmup=10", "ssd:warmup=2,delay=2"})
    EXPECT_EQ(after_steps(3, ssd, "64"), after_steps(3, ssd, "whole")) << ssd;
  EXPECT_EQ(after_steps(3, "eager:limit=1", "64"), after_steps(3, "ssgd", "64"));
  for (const char* alone : {"asgd", "eager"})
    EXPECT_EQ(after_steps(1, alone, "64"), after_steps(1, alone, "whole")) << alone;
}

// A second pass that adds nothing keeps rank 1 from sending early, for good.
TEST(Overlap, ARankThatSendsLateChangesNoBits) {
  const auto run = [](bool one_is_late) {
    return weights_after(
        3,
        [&](Process& me, RankLoop& t) {
          for (int step = 0; step < kSteps; ++step) {
            t.backward(step);
            if (one_is_late && me.rank() == 1) (0 * loss_on(t.net, step, 0, 8)).backward();
            t.sync->step();
          }
          t.sync->finish();
        },
        "ssgd", kSmall);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Overlap, GradientsThatWereDroppedComeBack) {
  expect_near(weights_after(
                  2,
                  [](Process&, RankLoop& t) {
                    for (int step = 0; step < kSteps; ++step) {
                      t.net->zero_grad(step % 2 == 0);
                      const int from = t.me.rank() * 12;
                      loss_on(t.net, step, from, from + 12).backward();
                      t.sync->step();
                    }
                    t.sync->finish();
                  },
                  "ssgd", kSmall),
              plain());
}

TEST(Overlap, ExchangeAndApplyAreAStep) {
  expect_near(weights_after(
                  2,
                  [](Process&, RankLoop& t) {
                    for (int step = 0; step < kSteps; ++step) {
                      t.backward(step);
                      t.sync->exchange();
                      t.sync->apply();
                    }
                    t.sync->finish();
                  },
                  "ssgd", kSmall),
              plain());
}

// One layer is used twice and another in every second step only.
struct OddNet : nn::Module {
  OddNet() {
    first = register_module("first", nn::Linear(6, 6));
    rare = register_module("rare", nn::Linear(6, 6));
    last = register_module("last", nn::Linear(6, 3));
    const ::torch::NoGradGuard no_grad;
    for (const auto& p : parameters())
      p.copy_(::torch::cos(::torch::arange(p.numel(), ::torch::kFloat32)).view(p.sizes()) * 0.3);
  }
  ::torch::Tensor loss(int step, int from, int to) {
    const auto all = ::torch::arange(0, kRows * 6, ::torch::kFloat32).view({kRows, 6});
    auto x = ::torch::sin(all * (step + 1)).slice(0, from, to);
    x = ::torch::tanh(first->forward(::torch::tanh(first->forward(x))));
    if (step % 2 == 0) x = ::torch::tanh(rare->forward(x));
    return ::torch::cross_entropy_loss(last->forward(x),
                                       ::torch::arange(kRows).remainder(3).slice(0, from, to));
  }
  nn::Linear first{nullptr};
  nn::Linear rare{nullptr};
  nn::Linear last{nullptr};
};

TEST(Overlap, ParametersMayBeUsedTwiceOrNotAtAll) {
  const ::torch::optim::SGDOptions how(0.1);
  OddNet one;
  ::torch::optim::SGD own(one.parameters(), how);
  for (int step = 0; step < kSteps; ++step) {
    own.zero_grad();
    one.loss(step, 0, kRows).backward();
    own.step();
  }
  std::vector<Weights> ranks(2);
  World::threads(2).run([&](Process& me) {
    OddNet net;
    ::torch::optim::SGD optimizer(net.parameters(), how);
    Replicated sync(me, net, optimizer, "ssgd", kSmall);
    for (int step = 0; step < kSteps; ++step) {
      optimizer.zero_grad();
      net.loss(step, me.rank() * 12, me.rank() * 12 + 12).backward();
      sync.step();
    }
    sync.finish();
    ranks[static_cast<std::size_t>(me.rank())] = weights_of(net);
  });
  expect_near(ranks, weights_of(one));
}

// From the first step on.
TEST(Overlap, LoopsThatChangeGradientsBeforeTheStepAreAsBefore) {
  const auto run = [](const char* bucket) {
    return weights_after(2,
                         [](Process&, RankLoop& t) {
                           for (int step = 0; step < kSteps; ++step) {
                             t.backward(step);
                             nn::utils::clip_grad_norm_(t.net->parameters(), 0.01);
                             t.sync->step();
                           }
                           t.sync->finish();
                         },
                         "ssgd", {.bucket = bucket});
  };
  expect_near(run("64"), run("whole")[0]);
}

std::string refused_after_two_steps(const std::function<void(RankLoop&)>& third,
                                    const char* strategy = "ssgd") {
  return test::refusal([&] {
    World::threads(2).run([&](Process& me) {
      RankLoop t(me, strategy, kSmall);
      t.steps(2);
      t.backward(2);
      third(t);
    });
  });
}

TEST(Overlap, AStepUnlikeThoseBeforeItIsRefusedByName) {
  const auto expect = [](const std::string& said, const std::string& words) {
    EXPECT_TRUE(said.starts_with(words)) << said;
    EXPECT_NE(said.find("set Options::bucket to \"whole\""), std::string::npos) << said;
  };
  expect(refused_after_two_steps([](RankLoop& t) { t.sync->accumulate(); }),
         "accumulate() came with samples or micro-batches");
  expect(refused_after_two_steps([](RankLoop& t) { t.sync->step(12); }),
         "step() came with samples or micro-batches");
  expect(refused_after_two_steps([](RankLoop& t) {
           loss_on(t.net, 3, 0, 8).backward();
           t.sync->step();
         }),
         "step() came after a second backward pass into '");
  expect(refused_after_two_steps([](RankLoop& t) {
           nn::utils::clip_grad_norm_(t.net->parameters(), 0.001);
           t.sync->step();
         }),
         "step() found that the gradient of '0.weight' changed after backward()");
  for (const char* strategy : {"ssgd", "ssd:warmup=1", "asgd", "eager:limit=1"})
    expect(refused_after_two_steps([](RankLoop& t) { t.sync->finish(); }, strategy),
           "finish() came after a backward pass without a step");
}

TEST(Overlap, ABucketOfNothingIsRefused) {
  const std::string said = test::refusal(
      [] { World::threads(1).run([](Process& me) { RankLoop(me, "ssgd", {.bucket = "0"}); }); });
  EXPECT_TRUE(said.starts_with("Options::bucket 0 leaves nothing in a bucket; give ")) << said;
}

TEST(Overlap, ABucketForAStrategyThatSendsNoneIsRefused) {
  const std::string said =
      test::refusal([] { World::threads(1).run([](Process& me) { RankLoop(me, "local", kSmall); }); });
  EXPECT_TRUE(said.starts_with("Options::bucket 64 with the strategy local, which ")) << said;
}

TEST(Overlap, OfTwoModulesOneStepsBeforeGradientsOfTheOtherLeave) {
  const auto two = [](const std::function<void(RankLoop&, RankLoop&)>& body) {
    World::threads(2).run([&](Process& me) {
      RankLoop a(me, "ssgd", kSmall);
      RankLoop b(me, "ssgd", kSmall);
      for (int step = 0; step < 3; ++step) {
        a.steps(1, step);
        b.steps(1, step);
      }
      body(a, b);
    });
  };
  two([](RankLoop& a, RankLoop& b) {
    EXPECT_EQ(weights_of(*a.net), weights_of(*b.net));
    a.sync->finish();
    b.sync->finish();
  });
  const std::string said = test::refusal([&] {
    two([](RankLoop& a, RankLoop& b) {
      a.backward(3);
      b.backward(3);
    });
  });
  EXPECT_TRUE(said.starts_with("part of a gradient has left already and waits for the step")) << said;
}

// The first to notice names it; the other may lose the first.
TEST(Overlap, ALostRankIsNamedByTheStep) {
  std::vector<int> blamed(3, -1);  // by rank
  EXPECT_THROW(World::threads(3).run([&](Process& me) {
    RankLoop t(me, "ssgd", kSmall);
    t.steps(2);
    if (me.rank() == 2) throw Diverged(2, 2, "on purpose");
    t.backward(2);
    try {
      t.sync->step();
    } catch (const PeerLost& lost) {
      blamed[static_cast<std::size_t>(me.rank())] = lost.peer;
      throw;
    }
  }),
               Diverged);
  EXPECT_TRUE(blamed[0] == 2 || blamed[1] == 2) << blamed[0] << ", " << blamed[1];
  EXPECT_TRUE(blamed[0] >= 1 && blamed[1] >= 0) << blamed[0] << ", " << blamed[1];
}

}  // namespace
}  // namespace tacit::torch
