// SPDX-License-Identifier: MIT
// What a loop around Replicated may rely on: it is one worker on the whole batch, whatever a user does in between.
#include <gtest/gtest.h>

#include <sstream>

#include "support/refusal.h"
#include "support/torch_loop.h"

namespace tacit::torch {
namespace {

using test::alone;
using test::fixed_net;
using test::kRows;
using test::loss_on;
using test::RankLoop;
using test::weights_after;
using test::weights_of;
using Weights = std::vector<float>;
namespace nn = ::torch::nn;

constexpr int kSteps = 6;

void expect_near(const std::vector<Weights>& ranks, const Weights& expected) {
  for (const Weights& w : ranks) {
    EXPECT_EQ(w, ranks[0]);
    ASSERT_EQ(w.size(), expected.size());
    for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], expected[i], 2e-5F) << i;
  }
}

void clip(const std::vector<::torch::Tensor>& parameters) { nn::utils::clip_grad_norm_(parameters, 0.05); }

Weights alone_and_clipped() {
  return alone(kSteps, [](::torch::optim::SGD& optimizer) {
    clip(optimizer.parameters());
    optimizer.step();
  });
}

TEST(ReplicatedLoop, ClipsTheMeanAndNotItsParts) {
  const auto hooked = [](Process& me) {
    nn::Sequential net = fixed_net();
    ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1).momentum(0.9));
    Replicated sync(me, *net, optimizer, "ssgd", {.before_apply = [&] { clip(net->parameters()); }});
    for (int step = 0; step < kSteps; ++step) {
      optimizer.zero_grad();
      loss_on(net, step, me.rank() * 8, me.rank() * 8 + 8).backward();
      sync.step();
    }
    sync.finish();
    return weights_of(*net);
  };
  std::vector<Weights> by_hook(3);
  World::threads(3).run([&](Process& me) { by_hook[static_cast<std::size_t>(me.rank())] = hooked(me); });
  expect_near(by_hook, alone_and_clipped());

  const auto by_hand = weights_after(3, [](Process&, RankLoop& t) {
    for (int step = 0; step < kSteps; ++step) {
      t.backward(step);
      t.sync->exchange();
      clip(t.net->parameters());
      t.sync->apply();
    }
    t.sync->finish();
  });
  EXPECT_EQ(by_hand, by_hook);
}

TEST(ReplicatedLoop, AccumulatesMicroBatchesIntoTheMeanOfAll) {
  const Weights expected = alone(kSteps, [](auto& optimizer) { optimizer.step(); });
  enum class Manner { kZeroGrad, kNoZeroGrad, kAllAccumulated };
  for (const Manner manner : {Manner::kZeroGrad, Manner::kNoZeroGrad, Manner::kAllAccumulated})
    expect_near(weights_after(2,
                              [&](Process& me, RankLoop& t) {
                                for (int step = 0; step < kSteps; ++step) {
                                  t.optimizer.zero_grad();
                                  for (int k = 0; k < 3; ++k) {
                                    if (manner == Manner::kZeroGrad) t.optimizer.zero_grad();
                                    const int from = me.rank() * 12 + k * 4;
                                    loss_on(t.net, step, from, from + 4).backward();
                                    if (k < 2 || manner == Manner::kAllAccumulated) t.sync->accumulate();
                                  }
                                  t.sync->step();
                                }
                                t.sync->finish();
                              }),
                expected);
}

TEST(ReplicatedLoop, WeighsUnequalBatchesByTheirSamples) {
  const Weights expected = alone(kSteps, [](auto& optimizer) { optimizer.step(); });
  const int ends[] = {0, 5, 5, kRows};  // rank 1 has no rows at all: its mean over nothing is not a number
  expect_near(weights_after(3,
                            [&](Process& me, RankLoop& t) {
                              const int from = ends[me.rank()];
                              const int to = ends[me.rank() + 1];
                              for (int step = 0; step < kSteps; ++step) {
                                t.backward(step, from, to);
                                t.sync->step(to - from);
                              }
                              t.sync->finish();
                            }),
              expected);
  // And micro-batches of different sizes.
  expect_near(weights_after(2,
                            [&](Process& me, RankLoop& t) {
                              const int cut[] = {0, 3, 10, 14, kRows};
                              for (int step = 0; step < kSteps; ++step)
                                for (int k = 0; k < 2; ++k) {
                                  const int at = 2 * me.rank() + k;
                                  t.backward(step, cut[at], cut[at + 1]);
                                  k == 0 ? t.sync->accumulate(cut[at + 1] - cut[at])
                                         : t.sync->step(cut[at + 1] - cut[at]);
                                }
                              t.sync->finish();
                            }),
              expected);
}

// torch::load gives every parameter and buffer other memory.
TEST(ReplicatedLoop, TrainsOnFromLoadedWeights) {
  std::stringstream file;
  {
    nn::Sequential other = fixed_net(true);
    const ::torch::NoGradGuard no_grad;
    for (const auto& p : other->parameters()) p.mul_(0.5);
    other[1]->as<nn::BatchNorm1d>()->running_mean.fill_(3);
    ::torch::save(other, file);
  }
  const std::string saved = file.str();
  const auto load = [&](nn::Sequential& net) {
    std::stringstream in(saved);
    ::torch::load(net, in);
  };
  const auto body = [&](bool early) {
    return weights_after(
        2,
        [&](Process&, RankLoop& t) {
          if (!early) {
            t.steps(2, 10);  // memory that the load drops
            t.optimizer.state().clear();
          }
          load(t.net);
          t.steps(kSteps);
          {
            const auto point = t.sync->evaluation();
            EXPECT_GT(t.net[1]->as<nn::BatchNorm1d>()->running_mean.mean().item<float>(), 0.5F);
          }
          t.steps(1, kSteps);
          t.sync->finish();
        },
        "ssgd", {}, true);
  };
  const auto from_start = body(true);
  EXPECT_EQ(body(false), from_start);
  EXPECT_EQ(from_start[1], from_start[0]);
}

TEST(ReplicatedLoop, LoadedWeightsAreTakenOverWhateverComesNext) {
  std::stringstream file;
  ::torch::save(fixed_net(), file);
  const std::string saved = file.str();
  using Call = void (*)(RankLoop&);
  const std::pair<Call, bool> calls[] = {
      // with Options::uneven
      {[](RankLoop& t) { (void)t.sync->evaluation(); }, false},
      {[](RankLoop& t) {
         t.backward(1);
         t.sync->accumulate();
       },
       false},
      {[](RankLoop& t) {
         t.backward(1);
         t.sync->exchange();
         t.sync->apply();
       },
       false},
      {[](RankLoop& t) { t.sync->join(); }, true},
  };
  for (const auto& [call, uneven] : calls)
    weights_after(2,
                  [&, call = call](Process&, RankLoop& t) {
                    t.steps(1);
                    std::stringstream in(saved);
                    ::torch::load(t.net, in);
                    call(t);
                    t.steps(1, 2);
                    EXPECT_NO_THROW(t.sync->finish());
                  },
                  "ssgd", {.uneven = uneven});
}

TEST(ReplicatedLoop, ToTheTypeItHasChangesNothing) {
  const auto run = [](bool convert) {
    return weights_after(
        2,
        [&](Process&, RankLoop& t) {
          t.steps(1);
          if (convert) t.net->to(::torch::kFloat32);  // makes a float of num_batches_tracked, too
          if (convert) t.net->to(::torch::kCPU);
          t.steps(2, 1);
          t.sync->finish();
        },
        "local:period=2", {}, true);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(ReplicatedLoop, ZeroGradMayDropTheGradientsOrFillThem) {
  const auto run = [](bool drop) {
    return weights_after(2, [&](Process& me, RankLoop& t) {
      for (int step = 0; step < kSteps; ++step) {
        t.net->zero_grad(drop);
        loss_on(t.net, step, me.rank() * 12, me.rank() * 12 + 12).backward();
        t.sync->step();
      }
      t.sync->finish();
    });
  };
  EXPECT_EQ(run(true), run(false));
  expect_near(run(true), alone(kSteps, [](auto& optimizer) { optimizer.step(); }));
}

// Two linear layers in groups with rates of their own, under a schedule.
struct Grouped {
  nn::Sequential net = fixed_net();
  ::torch::optim::SGD optimizer;
  ::torch::optim::StepLR schedule;
  Grouped() : optimizer(groups(), ::torch::optim::SGDOptions(0.1)), schedule(optimizer, 2, 0.5) {}

  std::vector<::torch::optim::OptimizerParamGroup> groups() {
    using ::torch::optim::SGDOptions;
    const auto p = net->parameters();
    return {{{p[0], p[1]}, std::make_unique<SGDOptions>(0.2)},
            {{p[2], p[3]}, std::make_unique<SGDOptions>(0.05)}};
  }
  void run(int from, int to, const std::function<void()>& step) {
    for (int i = 0; i < kSteps; ++i) {
      optimizer.zero_grad();
      loss_on(net, i, from, to).backward();
      step();
      schedule.step();
    }
  }
};

TEST(ReplicatedLoop, KeepsTheRatesOfGroupsAndSchedules) {
  Grouped one;
  one.run(0, kRows, [&] { one.optimizer.step(); });
  std::vector<Weights> ranks(2);
  World::threads(2).run([&](Process& me) {
    Grouped mine;
    Replicated sync(me, *mine.net, mine.optimizer, "ssgd");
    mine.run(me.rank() * 12, me.rank() * 12 + 12, [&] { sync.step(); });
    sync.finish();
    ranks[static_cast<std::size_t>(me.rank())] = weights_of(*mine.net);
  });
  expect_near(ranks, weights_of(*one.net));
}

// A linear layer that is used twice and registered twice, and one that is never used or used by rank 1 alone.
struct OddNetImpl : nn::Module {
  nn::Linear shared = register_module("encoder", nn::Linear(4, 4));
  nn::Linear again = register_module("decoder", shared.ptr());
  nn::Linear unused = register_module("unused", nn::Linear(4, 4));
  nn::Linear sometimes = register_module("sometimes", nn::Linear(4, 4));
  OddNetImpl() {
    const ::torch::NoGradGuard no_grad;
    for (const auto& p : parameters())
      p.copy_(::torch::cos(::torch::arange(p.numel()).view(p.sizes()) * 0.7));
  }
  ::torch::Tensor loss(const ::torch::Tensor& x, bool with_sometimes) {
    const auto y = again(::torch::tanh(shared(x)));
    return (with_sometimes ? sometimes(y) : y).pow(2).mean();
  }
};

TEST(ReplicatedLoop, SharedUnusedAndSometimesUsedParametersTrainAsOnOneWorker) {
  const auto rows = [](int rank) { return ::torch::sin(::torch::arange(24).view({6, 4}) * (rank + 1.0)); };
  OddNetImpl one;
  ::torch::optim::SGD plain(one.parameters(), ::torch::optim::SGDOptions(0.05));
  std::vector<Weights> ranks(2);
  for (int step = 0; step < 4; ++step) {
    plain.zero_grad();
    ((one.loss(rows(0), false) + one.loss(rows(1), true)) / 2).backward();
    plain.step();
  }
  World::threads(2).run([&](Process& me) {
    OddNetImpl net;
    ::torch::optim::SGD optimizer(net.parameters(), ::torch::optim::SGDOptions(0.05));
    Replicated sync(me, net, optimizer, "ssgd");
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      net.zero_grad(/*set_to_none=*/true);
      net.loss(rows(me.rank()), me.rank() == 1).backward();
      sync.step();
    }
    sync.finish();
    ranks[static_cast<std::size_t>(me.rank())] = weights_of(net);
  });
  expect_near(ranks, weights_of(one));
}

// As in a GAN: each has its own Replicated, and they take turns.
TEST(ReplicatedLoop, TwoModulesTrainInTurns) {
  const auto run = [](const char* first, const char* second) {
    World::threads(2).run([&](Process& me) {
      RankLoop a(me, first);
      RankLoop b(me, second);
      for (int step = 0; step < 4; ++step) {
        a.steps(1, step);
        b.steps(1, step + 7);
      }
      a.sync->finish();
      b.sync->finish();
    });
  };
  run("ssgd", "ssgd");
  run("dc_s3gd", "local:period=3");
  run("gossip", "ssd");
  for (const char* both : {"gossip", "gossip:mode=push,push_sum", "ssd", "wagma:group=2"}) run(both, both);
}

TEST(ReplicatedLoop, AnotherOneForTheSameModuleComesAfterFinish) {
  for (const std::string& strategy : builtin_strategies().names()) {
    const auto ranks = weights_after(
        2,
        [&](Process& me, RankLoop& t) {
          t.steps(2);
          t.sync->finish();
          t.net->parameters()[0].set_requires_grad(false);
          t.sync = std::make_unique<Replicated>(me, *t.net, t.optimizer, strategy);
          t.steps(2, 2);
          t.sync->finish();
        },
        strategy);
    EXPECT_EQ(ranks[1], ranks[0]) << strategy;
  }
}

// What is not trained is compared as well.
TEST(ReplicatedLoop, FrozenWeightsThatDifferAreNoticed) {
  test::expect_parts(test::refusal<Mismatch>([] {
                       World::threads(2).run([](Process& me) {
                         nn::Sequential net = fixed_net();
                         net->parameters()[0].set_requires_grad(false);
                         ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1));
                         Replicated sync(me, *net, optimizer, "local");
                         if (me.rank() == 1) net->parameters()[0].fill_(1);
                         sync.step();
                         sync.finish();
                       });
                     }),
                     {"weights of rank 1 differ"});
}

TEST(ReplicatedLoop, FiguresAreSummedOverRanks) {
  World::threads(3).run([](Process& me) {
    RankLoop t(me);
    EXPECT_EQ(t.sync->mean(me.rank() + 0.5), 1.5);
    EXPECT_EQ(t.sync->account().steps, 0);
    t.steps(2);
    const Account account = t.sync->account();
    EXPECT_EQ(account.steps, 2);
    EXPECT_GT(account.bytes_sent, 2 * weights_of(*t.net).size() * sizeof(float) / 2);
    t.sync->finish();
    EXPECT_EQ(t.sync->sum(1e9 + me.rank()), 3e9 + 3);  // a float would lose this
  });
}

}  // namespace
}  // namespace tacit::torch
