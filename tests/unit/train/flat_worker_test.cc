// SPDX-License-Identifier: MIT
// What a strategy may ask of the worker of `tacit train`.
#include "train/flat_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/refusal.h"
#include "support/simulate.h"
#include "support/train.h"
#include "tacit/core/kernels.h"
#include "train/optimizer.h"

namespace tacit::test {
namespace {

using Floats = std::vector<float>;

Floats floats(ConstFloatView x) {
  Floats values(x.size());
  copy(x, FloatView(values));
  return values;
}

// A model with a batch norm's statistic: every gradient moves it.
class NormedModel final : public Model {
 public:
  explicit NormedModel(std::unique_ptr<Model> inner) : inner_(std::move(inner)) {}
  std::span<const Slice> tensors() const override { return inner_->tensors(); }
  FloatView params() override { return inner_->params(); }
  FloatView gradient() override { return inner_->gradient(); }
  std::span<const FloatView> buffers() override { return buffers_; }
  double compute_gradient(const Batch& batch, const Ready& ready) override {
    statistic_[0] += 1;
    return inner_->compute_gradient(batch, ready);
  }
  Score evaluate(const Batch& batch) override { return inner_->evaluate(batch); }
  float statistic() const { return statistic_[0]; }

 private:
  std::unique_ptr<Model> inner_;
  std::array<float, 1> statistic_{};
  const std::array<FloatView, 1> buffers_{FloatView(statistic_)};
};

constexpr std::size_t kBatch = 12;
constexpr std::int64_t kSteps = 50;

// A worker with all that it stands on.
class OwnWorker {
 public:
  explicit OwnWorker(Process& me, const std::string& optimizer = "sgd",
                     const Dataset& data = test_data().train, std::size_t batch = kBatch,
                     std::int64_t steps = kSteps)
      : model(make_model(builtin_models(), "mlp:hidden=9", test_context(1))),
        optimizer_(make_optimizer(optimizer)),
        schedule_(make_schedule("cosine:warmup=5")),
        sampler_(data.size(), batch, me.size(), 1),
        times_(me),
        worker(me, 1, {model, *optimizer_, *schedule_, 0.1, steps, data, sampler_, times_}) {}

  NormedModel model;

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  const std::unique_ptr<Schedule> schedule_;
  Sampler sampler_;
  TimeAccount times_;

 public:
  FlatWorker worker;
};

void on_ranks(int ranks, const std::function<void(Process&)>& body) {
  World::threads(ranks, {.limits = {Seconds(60), Seconds(20), nullptr}}).run(body);
}

// The samples of another, which takes note of what it is told and asked.
class ToldSamples final : public Samples {
 public:
  using Batches = std::vector<std::pair<std::int64_t, std::vector<std::uint32_t>>>;  // epochs and indices
  explicit ToldSamples(Samples& inner) : inner_(inner) {}
  std::size_t size() const override { return inner_.size(); }
  std::vector<std::uint32_t> labels() const override { return inner_.labels(); }
  std::uint64_t hash(std::uint64_t before) const override { return inner_.hash(before); }
  void gather(const Wanted& wanted, Batch& out) override {
    note(wanted, asked);
    inner_.gather(wanted, out);
  }
  int batches_ahead() const override { return 2; }
  void expect(const Wanted& wanted) override { note(wanted, told); }
  std::vector<std::string> take_warnings(bool /*at_end*/) override { return {}; }

  Batches asked;
  Batches told;

 private:
  static void note(const Wanted& wanted, Batches& batches) {
    batches.emplace_back(wanted.epoch, std::vector(wanted.indices.begin(), wanted.indices.end()));
  }
  Samples& inner_;
};

TEST(FlatWorker, TellsTheDataOfEachStepOfTheRunOnceAndBeforeItsTurn) {
  on_ranks(2, [](Process& me) {
    const Dataset& plain = test_data().train;
    auto samples = std::make_unique<ToldSamples>(*plain.samples);
    ToldSamples& told = *samples;
    const Dataset data{plain.shape, plain.classes, std::move(samples)};
    OwnWorker own(me, "sgd", data, plain.size() / 4, 5);  // two steps an epoch
    for (std::int64_t t = 0; t < 5; ++t) {
      own.worker.set_t(t);
      own.worker.compute();
      EXPECT_EQ(told.told.size(), static_cast<std::size_t>(std::min<std::int64_t>(t + 2, 4)));
    }
    EXPECT_EQ(told.asked.back().first, 2);
    EXPECT_EQ(told.told, ToldSamples::Batches(told.asked.begin() + 1, told.asked.end()));
  });
}

constexpr const char* kOptimizers[] = {"sgd", "sgd:momentum=0.9,nesterov", "adam", "adamw"};

TEST(FlatWorker, AppliesAGradientAnywhereWithTheBitsOfParams) {
  on_ranks(1, [](Process& me) {
    for (const char* spec : kOptimizers) {
      OwnWorker here(me, spec);
      OwnWorker there(me, spec);
      const Floats start = floats(there.worker.params());
      Floats x = start;
      for (std::int64_t t = 0; t < 3; ++t) {
        here.worker.set_t(t);
        there.worker.set_t(t);
        here.worker.compute();
        there.worker.apply(here.worker.gradient(), x);
        here.worker.apply(here.worker.gradient());
      }
      EXPECT_EQ(floats(here.worker.params()), x) << spec;
      EXPECT_NE(start, x) << spec;
      EXPECT_EQ(floats(there.worker.params()), start) << spec;
    }
  });
}

TEST(FlatWorker, NamesWhatTheOptimiserRemembers) {
  on_ranks(1, [](Process& me) {
    const std::vector<std::vector<std::string>> names{
        {}, {"momentum"}, {"first", "second"}, {"first", "second"}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      OwnWorker own(me, kOptimizers[i]);
      FlatWorker& w = own.worker;
      const auto named = [&] {
        std::vector<std::string> all;
        for (const NamedView& each : w.optimizer().state()) all.push_back(each.name);
        return all;
      };
      EXPECT_EQ(named(), names[i]);
      for (const NamedView& each : w.optimizer().state()) EXPECT_TRUE(each.values.empty()) << each.name;
      w.compute();
      w.apply(w.gradient());
      EXPECT_EQ(named(), names[i]);
      for (const NamedView& each : w.optimizer().state())
        EXPECT_EQ(each.values.size(), w.params().size()) << each.name;
      if (i == 1) {
        EXPECT_EQ(floats(w.optimizer().state()[0].values), floats(w.gradient()));
      }
    }
  });
}

TEST(FlatWorker, AResetOptimiserStepsLikeAFreshOne) {
  on_ranks(1, [](Process& me) {
    for (const char* spec : kOptimizers) {
      OwnWorker used(me, spec);
      OwnWorker fresh(me, spec);
      used.worker.compute();
      const Floats g = floats(used.worker.gradient());
      Floats elsewhere = floats(used.worker.params());
      for (int i = 0; i < 3; ++i) used.worker.apply(g, elsewhere);
      used.worker.optimizer().reset();
      for (int i = 0; i < 3; ++i) {
        used.worker.apply(g);
        fresh.worker.apply(g);
      }
      EXPECT_EQ(floats(used.worker.params()), floats(fresh.worker.params())) << spec;
    }
  });
}

TEST(FlatWorker, KnowsTheRateOfAnyStepTheLengthOfTheRunAndTheLoss) {
  on_ranks(1, [](Process& me) {
    OwnWorker own(me);
    FlatWorker& w = own.worker;
    EXPECT_EQ(w.total(), kSteps);
    EXPECT_TRUE(std::isnan(w.loss()));
    const auto schedule = make_schedule("cosine:warmup=5");
    for (const std::int64_t t : {0, 3, 20, 49}) {
      EXPECT_EQ(w.lr(t), static_cast<float>(0.1 * schedule->factor(t, kSteps)));
      w.set_t(t);
      EXPECT_EQ(w.lr(), w.lr(t));
    }
    w.compute();
    EXPECT_GT(w.loss(), 0);
  });
}

TEST(FlatWorker, TheGradientAtAPointIsThatOfTheSameBatchAndChangesNothingElse) {
  on_ranks(1, [](Process& me) {
    OwnWorker own(me);
    FlatWorker& w = own.worker;
    w.compute();
    const Floats x = floats(w.params());
    const Floats g = floats(w.gradient());
    const double loss = w.loss();
    const float statistic = own.model.statistic();
    w.gradient_at(w.params());
    EXPECT_EQ(floats(w.gradient()), g);
    EXPECT_EQ(w.loss(), loss);

    Floats other = x;
    kernels::axpy(-0.5F, g, other);
    w.gradient_at(other);
    EXPECT_NE(floats(w.gradient()), g);
    EXPECT_LT(w.loss(), loss) << "a small step against the gradient lowers the loss of that batch";
    EXPECT_EQ(floats(w.params()), x);
    EXPECT_EQ(own.model.statistic(), statistic);

    const Floats there = floats(w.gradient());
    copy(other, w.params());
    w.compute();
    EXPECT_EQ(floats(w.gradient()), there);
  });
}

TEST(FlatWorker, PiecesAreTheSameOnEveryRankAndCoverTheGlobalBatch) {
  for (const int pieces : {1, 2, 4, 8}) {
    std::array<Floats, 4> sums;
    std::array<Floats, 4> own_gradients;
    on_ranks(4, [&](Process& me) {
      const auto rank = static_cast<std::size_t>(me.rank());
      OwnWorker own(me);
      FlatWorker& w = own.worker;
      w.set_pieces(pieces);
      w.set_t(3);
      w.compute();
      own_gradients[rank] = floats(w.gradient());
      sums[rank].resize(own_gradients[rank].size());
      for (int piece = 0; piece < pieces; ++piece) {
        w.gradient_of(piece);
        kernels::axpy(1.0F / static_cast<float>(pieces), w.gradient(), sums[rank]);
        if (pieces == 4) {
          EXPECT_TRUE(piece != me.rank() || floats(w.gradient()) == own_gradients[rank]);
        }
      }
    });
    Floats mean(sums[0].size());
    for (const Floats& each : own_gradients) kernels::axpy(0.25F, each, mean);
    for (const Floats& each : sums) {
      EXPECT_EQ(each, sums[0]);
      expect_near(each, mean, 1e-5F);
    }
  }
}

TEST(FlatWorker, PiecesThatWouldNotBeEqualAreRefused) {
  on_ranks(1, [](Process& me) {
    OwnWorker own(me);
    own.worker.set_pieces(5);
    const std::string why = refusal([&] { own.worker.gradient_of(0); });
    EXPECT_NE(why.find("12 samples"), std::string::npos) << why;
    EXPECT_NE(why.find("5 equal pieces"), std::string::npos) << why;
  });
}

TEST(FlatWorker, InVirtualTimeAPieceCostsItsShareOfAGradient) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  Cluster cluster = flat(2);
  cluster.step = Seconds(0.08);
  simulate(cluster, [](Process& me) {
    OwnWorker own(me);
    own.worker.set_pieces(4);
    own.worker.compute();
    const Clock& clock = me.tasks().clock();
    const Seconds start = clock.now();
    own.worker.gradient_of(1);  // a half of what each of two ranks usually computes
    EXPECT_NEAR((clock.now() - start).count(), 0.04, 1e-9);
    own.worker.gradient_at(own.worker.params());
    EXPECT_NEAR((clock.now() - start).count(), 0.12, 1e-9);
  });
}

// Every rank computes all pieces and so needs no exchange at all.
class EveryPiece final : public Strategy {
 public:
  int pieces(int ranks) const override { return 2 * ranks; }
  void step(Worker& w) override {
    Floats sum(w.gradient().size());
    for (int piece = 0; piece < pieces(w.size()); ++piece) {
      w.gradient_of(piece);
      kernels::axpy(1 / static_cast<float>(pieces(w.size())), w.gradient(), sum);
    }
    w.apply(sum);
  }
};

TEST(Trainer, AStrategyMayChooseThePiecesThatARankComputes) {
  StrategyRegistry strategies = builtin_strategies();
  StrategyInfo info;
  info.name = "every_piece";
  info.make = [](OptionReader&, int) { return std::make_unique<EveryPiece>(); };
  strategies.add(info);
  const Trained alone = train({.strategy = "every_piece"}, strategies);
  EXPECT_LT(*alone.summary.loss, alone.first_loss);
  const Trained together = train({.strategy = "ssgd"});
  expect_near(alone.params[3], together.params[3], 1e-4F);
  expect_refusal([&] { train({.strategy = "every_piece", .shards = "classes:1"}, strategies); },
                 {"every_piece", "--shards classes:1", "leave one of the two out"});
}

}  // namespace
}  // namespace tacit::test
