// SPDX-License-Identifier: MIT
// What goes wrong in a loop around Replicated is noticed, and said in one line that names what to change.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <utility>

#include "support/refusal.h"
#include "support/torch_loop.h"

namespace tacit::torch {
namespace {

using test::expect_parts;
using test::fixed_net;
using test::RankLoop;
using test::refusal;
using Body = std::function<void(Process&, RankLoop&)>;
namespace nn = ::torch::nn;

// The error that ends the ranks.
template <class E = InvalidConfig>
std::string error_of(const std::string& strategy, const Body& body, const Replicated::Options& options = {},
                     bool norm = false) {
  return refusal<E>([&] {
    World::threads(2).run([&](Process& me) {
      RankLoop t(me, strategy, options, norm);
      body(me, t);
    });
  });
}

std::string stderr_of(int ranks, const std::function<void(Process&)>& body) {
  ::testing::internal::CaptureStderr();
  World::threads(ranks).run(body);
  return ::testing::internal::GetCapturedStderr();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ReplicatedMisuse, AnotherTypeIsRefusedByName) {
  expect_parts(error_of("ssgd",
                        [](Process&, RankLoop& t) {
                          t.steps(1);
                          t.net->to(::torch::kFloat64);
                          t.sync->step();
                        }),
               {"'0.weight'", "double", ".to(torch::kFloat32)"});
  expect_parts(error_of(
                   "ssgd",
                   [](Process&, RankLoop& t) {
                     t.net[1]->to(::torch::kFloat64);  // statistics
                     t.sync->step();
                   },
                   {}, true),
               {"'1.", "double", ".to(torch::kFloat32)"});
}

TEST(ReplicatedMisuse, AnotherShapeIsRefusedByName) {
  expect_parts(error_of("ssgd",
                        [](Process&, RankLoop& t) {
                          t.net->parameters()[2].set_data(::torch::zeros({3, 9}));
                          t.sync->step();
                        }),
               {"'2.weight'", "[3, 9]", "[3, 8]"});
}

TEST(ReplicatedMisuse, LayersThatAreFrozenUnfrozenAddedOrReplacedLaterAreRefusedByName) {
  const auto freeze = [](Process&, RankLoop& t) {
    t.steps(1);
    t.net->parameters()[0].set_requires_grad(false);
    t.backward(1);
    t.sync->step();
  };
  expect_parts(error_of("ssgd", freeze), {"'0.weight' was frozen", "finish()", "make another"});
  expect_parts(refusal([&] {
                 World::threads(2).run([](Process& me) {
                   nn::Sequential net = fixed_net();
                   net->parameters()[0].set_requires_grad(false);
                   ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1));
                   Replicated sync(me, *net, optimizer, "ssgd");
                   net->parameters()[0].set_requires_grad(true);
                   sync.step();
                 });
               }),
               {"'0.weight' was unfrozen", "make another"});
  expect_parts(error_of("ssgd",
                        [](Process&, RankLoop& t) {
                          t.net->push_back(nn::Linear(3, 3));
                          t.sync->step();
                        }),
               {"'3.weight' came to the module"});
}

TEST(ReplicatedMisuse, OptimizerStepLeftInIsNoticed) {
  for (const std::string& strategy : builtin_strategies().names()) {
    expect_parts(error_of(strategy,
                          [](Process&, RankLoop& t) {
                            t.backward(0);
                            t.optimizer.step();
                            t.sync->step();
                          }),
                 {"step() found weights of '", "optimizer.step()", "Options::weights_may_change"});
    expect_parts(error_of(strategy,
                          [](Process&, RankLoop& t) {
                            t.steps(1);
                            t.optimizer.step();
                            t.sync->finish();
                          }),
                 {"finish() found weights of '", "optimizer.step()"});
  }
}

TEST(ReplicatedMisuse, WeightsMayChangeWhereTheLoopSaysSo) {
  const auto clamp = [](Process&, RankLoop& t) {
    for (int step = 0; step < 3; ++step) {
      t.steps(1, step);
      const ::torch::NoGradGuard no_grad;
      for (const auto& p : t.net->parameters()) p.clamp_(-0.1, 0.1);
    }
    t.sync->finish();
  };
  const auto ranks = test::weights_after(2, clamp, "ssgd", {.weights_may_change = true});
  EXPECT_EQ(ranks[1], ranks[0]);
  expect_parts(error_of("ssgd", clamp), {"weights_may_change"});
  expect_parts(error_of("ssd", clamp, {.weights_may_change = true}),
               {"ssd: Options::weights_may_change", "weights of its own"});
}

void load_zeros(nn::Sequential& net) {
  nn::Sequential other = fixed_net();
  {
    const ::torch::NoGradGuard no_grad;
    for (const auto& p : other->parameters()) p.zero_();
  }
  std::stringstream file;
  ::torch::save(other, file);
  ::torch::load(net, file);
}

TEST(ReplicatedMisuse, WeightsLoadedOnOneRankAloneAreNoticed) {
  const auto body = [](Process& me, RankLoop& t) {
    if (me.rank() == 1) load_zeros(t.net);
    t.steps(2);
  };
  expect_parts(
      error_of<Mismatch>("ssgd",
                         [&](Process& me, RankLoop& t) {
                           body(me, t);
                           t.sync->finish();
                         }),
      {"finish() found that the weights of rank 1 differ from those of rank 0", "on some ranks only"});
  expect_parts(error_of<Mismatch>("ssgd",
                                  [&](Process& me, RankLoop& t) {
                                    body(me, t);
                                    const auto point = t.sync->evaluation();
                                  }),
               {"evaluation() found that the weights of rank 1 differ"});
}

TEST(ReplicatedMisuse, AStrategyWithWeightsOfItsOwnRefusesALaterLoad) {
  for (const char* strategy : {"ssd:warmup=0", "dc_s3gd"})
    expect_parts(error_of(strategy,
                          [](Process&, RankLoop& t) {
                            t.steps(1);
                            load_zeros(t.net);
                            t.steps(1, 1);
                          }),
                 {strategy, "torch::load()", "load before Replicated is made"});
}

TEST(ReplicatedMisuse, NothingButEvaluationAndFiguresComesAfterFinish) {
  using Call = void (*)(Replicated&);
  const std::pair<const char*, Call> calls[] = {
      {"step() after finish()", [](Replicated& s) { s.step(); }},
      {"accumulate() after finish()", [](Replicated& s) { s.accumulate(); }},
      {"apply() after finish()", [](Replicated& s) { s.apply(); }},
      {"join() after finish()", [](Replicated& s) { s.join(); }},
      {"finish() was called twice", [](Replicated& s) { s.finish(); }},
  };
  for (const std::string& strategy : builtin_strategies().names())
    World::threads(2).run([&](Process& me) {
      RankLoop t(me, strategy);
      t.steps(2);
      t.sync->finish();
      const auto end = test::weights_of(*t.net);
      for (const auto& [message, call] : calls)
        expect_parts(refusal([&, each = call] { each(*t.sync); }), {message, "training has ended"});
      {
        const auto point = t.sync->evaluation();
        EXPECT_EQ(test::weights_of(*t.net), end) << strategy;
        EXPECT_EQ(t.sync->mean(me.rank()), 0.5);
      }
      EXPECT_EQ(test::weights_of(*t.net), end) << strategy;
    });
}

TEST(ReplicatedMisuse, FinishLeftOutIsSaidOnStderr) {
  for (const std::string& strategy : builtin_strategies().names()) {
    const std::string said = stderr_of(1, [&](Process& me) {
      RankLoop t(me, strategy);
      t.steps(2);
    });
    expect_parts(said, {"tacit: rank 0: Replicated ended without finish()", "on every rank"});
  }
  const std::string both = stderr_of(2, [&](Process& me) { RankLoop(me).steps(2); });
  EXPECT_EQ(count(both, "without finish()"), 2U) << both;
}

// A rank that is still at work then finds the other one gone, or does not notice.
TEST(ReplicatedMisuse, FinishLeftOutEndsEveryStrategyAllTheSame) {
  ::testing::internal::CaptureStderr();
  for (const std::string& strategy : builtin_strategies().names()) try {
      World::threads(2).run([&](Process& me) { RankLoop(me, strategy).steps(3); });
    } catch (const PeerLost&) {
    }
  EXPECT_GT(count(::testing::internal::GetCapturedStderr(), "without finish()"), 0U);
}

TEST(ReplicatedMisuse, AnErrorOfTheLoopIsNotCalledAFinishThatIsMissing) {
  ::testing::internal::CaptureStderr();
  for (const std::string& strategy : builtin_strategies().names()) {
    const auto loop = [](Process& me, RankLoop& t) {
      t.steps(2);
      if (me.rank() == 1) throw std::runtime_error("no more disk");
      t.steps(2, 2);
      t.sync->finish();
    };
    const auto run = [&] {
      World::threads(2).run([&](Process& me) {
        RankLoop t(me, strategy);
        loop(me, t);
      });
    };
    EXPECT_EQ(refusal<std::runtime_error>(run), "no more disk") << strategy;
  }
  EXPECT_EQ(count(::testing::internal::GetCapturedStderr(), "finish()"), 0U);
}

TEST(ReplicatedMisuse, StepsUnderAnEvaluationAreRefused) {
  World::threads(2).run([](Process& me) {
    RankLoop t(me, "local:period=3");
    t.steps(1);
    auto point = t.sync->evaluation();
    t.backward(1);
    expect_parts(refusal([&] { t.sync->step(); }),
                 {"step() while the point of evaluation() is in place", "drop"});
    expect_parts(refusal([&] { t.sync->accumulate(); }), {"accumulate() while"});
    expect_parts(refusal([&] { t.sync->finish(); }), {"finish() while"});
    expect_parts(refusal([&] { point = t.sync->evaluation(); }), {"evaluation() while"});
    point.reset();
    t.steps(1, 1);
    t.sync->finish();
  });
}

TEST(ReplicatedMisuse, ExchangeAndApplyComeInTurns) {
  World::threads(2).run([](Process& me) {
    RankLoop t(me);
    t.backward(0);
    expect_parts(refusal([&] { t.sync->apply(); }), {"apply() without exchange()"});
    t.sync->exchange();
    expect_parts(refusal([&] { t.sync->exchange(); }), {"exchange() after exchange() without apply()"});
    expect_parts(refusal([&] { t.sync->step(); }),
                 {"step() after exchange() without apply()", "optimizer.step()"});
    expect_parts(refusal([&] { t.sync->finish(); }), {"finish() after exchange() without apply()"});
    t.sync->apply();
    t.steps(1, 1);
    t.sync->finish();
  });
}

TEST(ReplicatedMisuse, WhatAStrategyCannotDoIsRefusedByItsName) {
  for (const std::string& strategy : builtin_strategies().names()) {
    const StrategyInfo& info = builtin_strategies().find(strategy);
    if (!info.applies_last)
      expect_parts(error_of(strategy,
                            [](Process&, RankLoop& t) {
                              t.backward(0);
                              t.sync->exchange();
                            }),
                   {strategy + ": exchange()", "before_apply"});
    if (info.sends != Sends::kGradients)
      expect_parts(error_of(strategy,
                            [](Process&, RankLoop& t) {
                              t.backward(0);
                              t.sync->step(3);
                            }),
                   {strategy + ": step()", "samples", "ssgd"});
  }
  expect_parts(error_of("ssd:delay=2", [](Process&, RankLoop&) {}, {.before_apply = [] {}}),
               {"before_apply", "ssd:delay=2", "servers"});
}

TEST(ReplicatedMisuse, SamplesAreGivenWithAllBatchesOfAStepOrWithNone) {
  expect_parts(error_of("ssgd",
                        [](Process&, RankLoop& t) {
                          t.backward(0);
                          t.sync->accumulate();
                          t.sync->step(3);
                        }),
               {"samples", "accumulate()"});
  expect_parts(error_of("ssgd", [](Process&, RankLoop& t) { t.sync->step(-1); }), {"-1 samples"});
  expect_parts(error_of<Mismatch>("ssgd",
                                  [](Process& me, RankLoop& t) {
                                    t.backward(0);
                                    me.rank() == 0 ? t.sync->step() : t.sync->step(3);
                                  }),
               {"rank 0 calls step() and rank 1 step(samples)"});
}

TEST(ReplicatedMisuse, AnOptimizerThatNeedsAClosureIsRefusedByName) {
  expect_parts(refusal([] {
                 World::threads(2).run([](Process& me) {
                   nn::Sequential net = fixed_net();
                   ::torch::optim::LBFGS optimizer(net->parameters());
                   Replicated sync(me, *net, optimizer, "ssgd");
                 });
               }),
               {"torch::optim::LBFGS", "closure", "torch::optim::SGD"});
}

TEST(ReplicatedMisuse, ParametersOutsideOfTheModuleAreRefused) {
  expect_parts(refusal([] {
                 World::threads(2).run([](Process& me) {
                   nn::Sequential net = fixed_net();
                   nn::Linear head(3, 7);
                   auto all = net->parameters();
                   for (const auto& p : head->parameters()) all.push_back(p);
                   ::torch::optim::SGD optimizer(all, ::torch::optim::SGDOptions(0.1));
                   Replicated sync(me, *net, optimizer, "ssgd");
                 });
               }),
               {"torch::optim::SGD", "[7, 3]", "not the module's"});
}

TEST(ReplicatedMisuse, RatesThatDifferBetweenRanksAreNamed) {
  expect_parts(error_of<Mismatch>("ssgd",
                                  [](Process& me, RankLoop& t) {
                                    if (me.rank() == 1)
                                      for (auto& group : t.optimizer.param_groups())
                                        group.options().set_lr(0.25);
                                    t.steps(1);
                                  }),
               {"rank 0 and rank 1", "learning rates", "0.1", "0.25"});
}

TEST(ReplicatedMisuse, TheSameBatchesOnEveryRankAreWarnedOfOnce) {
  const auto train = [](bool same) {
    return stderr_of(3, [&](Process& me) {
      RankLoop t(me);
      for (int step = 0; step < 3; ++step) {
        same ? t.backward(step, 0, 8) : t.backward(step);
        t.sync->step();
      }
      t.sync->finish();
    });
  };
  const std::string warned = train(true);
  EXPECT_EQ(count(warned, "tacit: warning"), 1U) << warned;
  expect_parts(warned, {"same batches", "torch::manual_seed", "me.seed"});
  EXPECT_EQ(train(false), "");
}

// The library speaks of its own options, not of the program's.
TEST(ReplicatedMisuse, NoErrorNamesAnOptionOfTheProgram) {
  const std::pair<const char*, const char*> pairs[] = {{"gossip", "onebit,ef"},
                                                       {"ssgd:servers=1", "onebit,ef"},
                                                       {"compskip:up=topk", "onebit"},
                                                       {"ssgd", "topk:ratio=0.1,dgc"},
                                                       {"ssgd", "topk:ratio=0.1,momentum=0.9"},
                                                       {"local", "topk,dgc"},
                                                       {"ssgd", "onebitt"}};
  for (const auto& [strategy, compress] : pairs) {
    const std::string why = error_of(strategy, [](Process&, RankLoop&) {}, {.compress = compress});
    EXPECT_EQ(why.find("--"), std::string::npos) << why;
  }
  for (const char* strategy : {"ssgd", "compskip"}) {
    const auto not_finite = [](Process&, RankLoop& t) {
      t.backward(0);
      t.net->parameters()[0].mutable_grad().fill_(std::numeric_limits<float>::quiet_NaN());
      t.sync->step();
    };
    const std::string why = error_of<Diverged>(strategy, not_finite, {.compress = "topk:ratio=0.5"});
    EXPECT_EQ(why.find("--"), std::string::npos) << why;
    expect_parts(why, {"lower the learning rate"});
  }
}

}  // namespace
}  // namespace tacit::torch
