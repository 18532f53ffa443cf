// SPDX-License-Identifier: MIT
// What a strategy may ask of a LibTorch loop: the worker of Replicated.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "support/refusal.h"
#include "support/torch_loop.h"

namespace tacit::test {
namespace {

using Floats = std::vector<float>;
using Probe = std::function<void(Worker&)>;

Floats floats(ConstFloatView x) {
  Floats values(x.size());
  copy(x, FloatView(values));
  return values;
}

// A strategy that is a test's function.
class Probing final : public Strategy {
 public:
  explicit Probing(Probe probe, int pieces) : probe_(std::move(probe)), pieces_(pieces) {}
  int pieces(int) const override { return pieces_; }
  void step(Worker& w) override { probe_(w); }

 private:
  const Probe probe_;
  const int pieces_;
};

StrategyRegistry with_probe(const Probe& probe, int pieces = 0) {
  StrategyRegistry known = builtin_strategies();
  StrategyInfo info;
  info.name = "probe";
  info.make = [probe, pieces](OptionReader&, int) { return std::make_unique<Probing>(probe, pieces); };
  known.add(info);
  return known;
}

// One rank whose steps are the probe.
void run_probe(const Probe& probe, torch::Replicated::Options options,
               const std::function<void(RankLoop&)>& loop, int pieces = 0, bool norm = false) {
  const StrategyRegistry known = with_probe(probe, pieces);
  options.strategies = &known;
  World::threads(1).run([&](Process& me) {
    RankLoop t(me, "probe", options, norm);
    loop(t);
    t.sync->finish();
  });
}

TEST(TorchWorker, AppliesAGradientAnywhereWithTheBitsOfParams) {
  Floats x;
  Floats start;
  const auto elsewhere = [&](Worker& w) {
    if (x.empty()) x = start = floats(w.params());
    // The gradient is that at params(), which stay where they are.
    w.apply(w.gradient(), x);
    EXPECT_EQ(floats(w.params()), start);
  };
  run_probe(elsewhere, {}, [](RankLoop& t) {
    for (int i = 0; i < 3; ++i) {
      t.backward(0);
      t.sync->step();
    }
  });
  Floats here;
  run_probe(
      [&](Worker& w) {
        const Floats kept = floats(w.params());
        const Floats g = floats(w.gradient());
        for (int i = 0; i < 3; ++i) w.apply(g);
        here = floats(w.params());
      },
      {},
      [](RankLoop& t) {
        t.backward(0);
        t.sync->step();
      });
  EXPECT_EQ(x, here);
  EXPECT_NE(x, start);
}

TEST(TorchWorker, NamesWhatSgdRemembersAndWritesIntoIt) {
  int step = 0;
  run_probe(
      [&](Worker& w) {
        const std::vector<NamedView> before = w.optimizer().state();
        ASSERT_EQ(before.size(), 1U);
        EXPECT_EQ(before[0].name, "momentum");
        if (step++ == 0) {
          EXPECT_TRUE(before[0].values.empty());
        }
        const Floats g = floats(w.gradient());
        const Floats x = floats(w.params());
        w.apply(w.gradient());
        const FloatView momentum = w.optimizer().state()[0].values;
        ASSERT_EQ(momentum.size(), x.size());
        if (step == 1) {
          EXPECT_EQ(floats(momentum), g);
        }
        copy(Floats(x.size(), 2.0F), momentum);  // the optimiser goes on from this
        w.apply(Floats(x.size(), 0.0F));
        EXPECT_EQ(floats(w.optimizer().state()[0].values), Floats(x.size(), 0.9F * 2.0F));
        w.optimizer().reset();
        const Floats point = floats(w.params());
        w.apply(g);
        for (std::size_t i = 0; i < x.size(); ++i)
          EXPECT_FLOAT_EQ(floats(w.params())[i], point[i] - 0.1F * g[i]);
      },
      {},
      [](RankLoop& t) {
        for (int i = 0; i < 2; ++i) {
          t.backward(i);
          t.sync->step();
        }
      });
}

TEST(TorchWorker, NamesTheMomentsOfAdam) {
  const StrategyRegistry known = with_probe([](Worker& w) {
    w.apply(w.gradient());
    const std::vector<NamedView> state = w.optimizer().state();
    ASSERT_EQ(state.size(), 2U);
    EXPECT_EQ(state[0].name, "first");
    EXPECT_EQ(state[1].name, "second");
    for (const NamedView& each : state) EXPECT_EQ(each.values.size(), w.params().size());
  });
  World::threads(1).run([&](Process& me) {
    ::torch::nn::Sequential net = fixed_net();
    ::torch::optim::Adam optimizer(net->parameters(), ::torch::optim::AdamOptions(0.1));
    torch::Replicated sync(me, *net, optimizer, "probe", {.strategies = &known});
    for (int i = 0; i < 2; ++i) {
      optimizer.zero_grad();
      loss_on(net, i, 0, kRows).backward();
      sync.step();
    }
    sync.finish();
  });
}

TEST(TorchWorker, SaysWhatTheLoopTellsItOfRatesLengthAndLoss) {
  torch::Replicated::Options options;
  options.total = 7;
  options.schedule = [](std::int64_t t) { return 0.5 / static_cast<double>(t + 1); };
  int step = 0;
  run_probe(
      [&](Worker& w) {
        EXPECT_EQ(w.total(), 7);
        EXPECT_EQ(w.lr(), 0.1F) << "what the optimiser has";
        EXPECT_EQ(w.lr(4), 0.1F);
        EXPECT_EQ(w.lr(9), 0.05F);
        if (step++ == 0) {
          EXPECT_EQ(w.loss(), 3.5);
        } else {
          EXPECT_TRUE(std::isnan(w.loss()));
        }
        w.apply(w.gradient());
      },
      options,
      [](RankLoop& t) {
        t.backward(0);
        t.sync->step({.loss = 3.5});
        t.backward(1);
        t.sync->step();
      });
}

TEST(TorchWorker, ComputesTheGradientAtAPointByTheLoopsOwnFunction) {
  torch::Replicated::Options options;
  RankLoop* loop = nullptr;
  options.gradient = [&] {
    const auto loss = loss_on(loop->net, 0, 0, kRows);
    loss.backward();
    return loss.item<double>();
  };
  run_probe(
      [&](Worker& w) {
        const Floats g = floats(w.gradient());
        const Floats x = floats(w.params());
        const auto statistics = loop->net->buffers()[0].clone();
        w.gradient_at(w.params());
        EXPECT_EQ(floats(w.gradient()), g);
        EXPECT_GT(w.loss(), 0);
        const double here = w.loss();
        Floats other = x;
        for (std::size_t i = 0; i < x.size(); ++i) other[i] -= 0.01F * g[i];
        w.gradient_at(other);
        EXPECT_NE(floats(w.gradient()), g);
        EXPECT_LT(w.loss(), here);
        EXPECT_EQ(floats(w.params()), x);
        EXPECT_TRUE(statistics.equal(loop->net->buffers()[0]));
      },
      options,
      [&](RankLoop& t) {
        loop = &t;
        t.backward(0, 0, kRows);
        t.sync->step();
      },
      0, true);
}

TEST(TorchWorker, ComputesPiecesByTheLoopsOwnFunctionAndSaysWhatIsMissing) {
  torch::Replicated::Options options;
  RankLoop* loop = nullptr;
  options.gradient_of = [&](std::int64_t piece) {
    const int rows = kRows / 4;
    const auto loss =
        loss_on(loop->net, 0, static_cast<int>(piece) * rows, static_cast<int>(piece + 1) * rows);
    loss.backward();
    return loss.item<double>();
  };
  Floats mean;
  const auto probe = [&](Worker& w) {
    mean.assign(w.gradient().size(), 0.0F);
    for (std::int64_t piece = 0; piece < 4; ++piece) {
      w.gradient_of(piece);
      const Floats g = floats(w.gradient());
      for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] / 4;
    }
    const std::string why = refusal([&] { w.gradient_at(w.params()); });
    EXPECT_NE(why.find("Options::gradient "), std::string::npos) << why;
  };
  run_probe(
      probe, options,
      [&](RankLoop& t) {
        loop = &t;
        t.sync->step();
        t.backward(0, 0, kRows);
        Floats whole;
        for (const auto& p : t.net->parameters())
          whole.insert(whole.end(), p.grad().data_ptr<float>(),
                       p.grad().data_ptr<float>() + p.grad().numel());
        ASSERT_EQ(whole.size(), mean.size());
        for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], mean[i], 1e-5F);
      },
      4);
  run_probe(
      [](Worker& w) {
        const std::string why = refusal([&] { w.gradient_of(0); });
        EXPECT_NE(why.find("Options::gradient_of"), std::string::npos) << why;
      },
      {}, [](RankLoop& t) { t.sync->step(); }, 4);
}

TEST(TorchWorker, BrakesTheGradientsOfALoop) {
  const auto plain = weights_after(2, [](Process&, RankLoop& t) {
    t.steps(5);
    t.sync->finish();
  });
  const auto braked = weights_after(
      2,
      [](Process&, RankLoop& t) {
        t.steps(5);
        t.sync->finish();
      },
      "ssgd:braking=1");
  EXPECT_EQ(braked[0], braked[1]);
  EXPECT_NE(braked[0], plain[0]);
}

}  // namespace
}  // namespace tacit::test
