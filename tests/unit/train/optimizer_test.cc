// SPDX-License-Identifier: MIT
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int kSteps = 20;
constexpr std::size_t kSize = 37;

Floats gradient_at(int step, std::size_t n = kSize) {
  Rng rng(3, 0, step, Rng::Use::kMinibatch);
  Floats g(n);
  for (float& v : g) v = rng.normal();
  return g;
}

Floats start(std::size_t n = kSize) { return gradient_at(1000, n); }

float lr_at(int step) { return 0.1F / static_cast<float>(1 + step); }

Floats run(const std::string& spec) {
  const auto optimizer = make_optimizer(spec);
  Floats x = start();
  for (int t = 0; t < kSteps; ++t) optimizer->step(gradient_at(t), lr_at(t), x);
  return x;
}

std::string refusal(const std::string& spec) {
  return test::refusal([&] { make_optimizer(spec); });
}

void expect_near(const Floats& got, const Doubles& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(static_cast<double>(got[i]), want[i], bound) << i;
}

// The textbook formulas in double, written apart from the kernels.
Doubles reference_sgd(double momentum, bool nesterov, double weight_decay) {
  const Floats first = start();
  Doubles x(first.begin(), first.end());
  Doubles v(kSize);
  for (int t = 0; t < kSteps; ++t) {
    const Floats g = gradient_at(t);
    for (std::size_t i = 0; i < kSize; ++i) {
      const double d = static_cast<double>(g[i]) + weight_decay * x[i];
      v[i] = momentum * v[i] + d;
      x[i] -= static_cast<double>(lr_at(t)) * (nesterov ? d + momentum * v[i] : v[i]);
    }
  }
  return x;
}

struct AdamReference {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
};

Doubles reference_adam(const AdamReference& r) {
  const Floats first = start();
  Doubles x(first.begin(), first.end());
  Doubles m(kSize);
  Doubles v(kSize);
  for (int t = 0; t < kSteps; ++t) {
    const Floats gradient = gradient_at(t);
    const auto lr = static_cast<double>(lr_at(t));
    for (std::size_t i = 0; i < kSize; ++i) {
      auto g = static_cast<double>(gradient[i]);
      if (r.decoupled) x[i] -= lr * r.weight_decay * x[i];
      if (!r.decoupled) g += r.weight_decay * x[i];
      m[i] = r.beta1 * m[i] + (1 - r.beta1) * g;
      v[i] = r.beta2 * v[i] + (1 - r.beta2) * g * g;
      const double unbiased_m = m[i] / (1 - std::pow(r.beta1, t + 1));
      const double unbiased_v = v[i] / (1 - std::pow(r.beta2, t + 1));
      x[i] -= lr * unbiased_m / (std::sqrt(unbiased_v) + r.epsilon);
    }
  }
  return x;
}

TEST(Sgd, OneStepByHand) {
  Floats x = {1.0F, -2.0F};
  make_optimizer("sgd")->step(Floats{0.5F, 4.0F}, 0.5F, x);
  EXPECT_EQ(x, (Floats{0.75F, -4.0F}));
}

TEST(Sgd, TwoStepsWithMomentumByHand) {
  const auto sgd = make_optimizer("sgd:momentum=0.5");
  Floats x = {1.0F};
  sgd->step(Floats{1.0F}, 0.5F, x);  // v = 1
  EXPECT_EQ(x[0], 0.5F);
  sgd->step(Floats{1.0F}, 0.5F, x);  // v = 1.5
  EXPECT_EQ(x[0], -0.25F);
}

TEST(Sgd, OneStepWithNesterovByHand) {
  Floats x = {1.0F};
  make_optimizer("sgd:momentum=0.5,nesterov")->step(Floats{1.0F}, 0.5F, x);  // 1 - 0.5 (1 + 0.5)
  EXPECT_EQ(x[0], 0.25F);
}

TEST(Sgd, FollowsTheFormula) {
  expect_near(run("sgd"), reference_sgd(0, false, 0), 2e-6);
  expect_near(run("sgd:weight_decay=0.1"), reference_sgd(0, false, 0.1), 2e-6);
  expect_near(run("sgd:momentum=0.9"), reference_sgd(0.9, false, 0), 2e-6);
  expect_near(run("sgd:momentum=0.9,weight-decay=0.1,nesterov"), reference_sgd(0.9, true, 0.1), 2e-6);
}

TEST(Sgd, ItsGainIsHowFarAGradientThatStaysMovesIt) {
  for (const char* spec : {"sgd", "sgd:momentum=0.5", "sgd:momentum=0.8,nesterov"}) {
    const auto optimizer = make_optimizer(spec);
    Floats x{0};
    for (int t = 0; t < 100; ++t) optimizer->step(Floats{1}, 0.1F, x);
    const float before = x[0];
    optimizer->step(Floats{1}, 0.1F, x);
    EXPECT_NEAR(static_cast<double>(before - x[0]), 0.1 * optimizer->gain(), 1e-4) << spec;
  }
}

TEST(Sgd, NeedsNoStateWithoutMomentum) {
  const auto sgd = make_optimizer("sgd");
  for (const std::size_t n : {5U, 0U, 9U}) {
    Floats x = start(n);
    EXPECT_NO_THROW(sgd->step(gradient_at(0, n), 0.1F, x));
  }
}

TEST(Sgd, RefusesNesterovWithoutMomentum) {
  EXPECT_EQ(refusal("sgd:nesterov"), "sgd: nesterov needs a momentum; write sgd:momentum=0.9,nesterov");
  EXPECT_EQ(refusal("sgd:momentum=0,nesterov"), refusal("sgd:nesterov"));
  EXPECT_NO_THROW(make_optimizer("sgd:momentum=0.9,nesterov=false"));
}

TEST(Adam, FirstStepHasTheLengthOfTheRate) {
  Floats x = {0.0F, 0.0F, 0.0F};
  make_optimizer("adam")->step(Floats{3.0F, -0.01F, 0.0F}, 0.125F, x);
  EXPECT_NEAR(x[0], -0.125F, 1e-6F);
  EXPECT_NEAR(x[1], 0.125F, 1e-6F);
  EXPECT_EQ(x[2], 0.0F);
}

TEST(Adam, FollowsTheFormula) {
  expect_near(run("adam"), reference_adam({}), 1e-5);
  expect_near(run("adam:weight_decay=0.1"), reference_adam({.weight_decay = 0.1}), 1e-5);
  expect_near(run("adam:beta1=0.5,beta2=0.9,epsilon=0.01"),
              reference_adam({.beta1 = 0.5, .beta2 = 0.9, .epsilon = 0.01}), 1e-5);
}

TEST(AdamW, FollowsTheFormula) {
  expect_near(run("adamw"), reference_adam({.weight_decay = 0.01, .decoupled = true}), 1e-5);
  expect_near(run("adamw:weight_decay=0.5"), reference_adam({.weight_decay = 0.5, .decoupled = true}), 1e-5);
}

TEST(AdamW, WithoutDecayIsAdam) {
  EXPECT_EQ(run("adamw:weight_decay=0"), run("adam"));
  EXPECT_NE(run("adamw"), run("adam"));
}

class EveryOptimizer : public testing::TestWithParam<std::string> {};

// What sharded strategies rely on: each owner of a slice steps it alone.
TEST_P(EveryOptimizer, StepsSlicesAsItStepsTheWhole) {
  const auto low = make_optimizer(GetParam());
  const auto high = make_optimizer(GetParam());
  const Slice left{0, 13};
  const Slice right{13, kSize - 13};
  Floats x = start();
  for (int t = 0; t < kSteps; ++t) {
    const Floats g = gradient_at(t);
    low->step(part(ConstFloatView(g), left), lr_at(t), part(FloatView(x), left));
    high->step(part(ConstFloatView(g), right), lr_at(t), part(FloatView(x), right));
  }
  EXPECT_EQ(x, run(GetParam()));
}

TEST_P(EveryOptimizer, RefusesAGradientOfAnotherSize) {
  Floats x = start(4);
  EXPECT_THROW(make_optimizer(GetParam())->step(gradient_at(0, 3), 0.1F, x), Bug);
}

TEST_P(EveryOptimizer, StandsStillAtRateZero) {
  Floats x = start();
  make_optimizer(GetParam())->step(gradient_at(0), 0.0F, x);
  EXPECT_EQ(x, start());
}

TEST_P(EveryOptimizer, GoesOnFromASavedStateAsIfNothingHadBeen) {
  auto optimizer = make_optimizer(GetParam());
  Floats x = start();
  for (int t = 0; t < kSteps; ++t) {
    StateWriter state;
    optimizer->save(state);
    optimizer = make_optimizer(GetParam());
    StateReader reader(state.bytes());
    optimizer->load(reader);
    EXPECT_TRUE(reader.at_end());
    optimizer->step(gradient_at(t), lr_at(t), x);
  }
  EXPECT_EQ(x, run(GetParam()));
}

TEST_P(EveryOptimizer, StepsNothing) { EXPECT_NO_THROW(make_optimizer(GetParam())->step({}, 0.1F, {})); }

INSTANTIATE_TEST_SUITE_P(Builtin, EveryOptimizer,
                         testing::Values("sgd", "sgd:momentum=0.9",
                                         "sgd:momentum=0.9,nesterov,weight_decay=0.01", "adam",
                                         "adam:weight_decay=0.1", "adamw"));

TEST(Optimizers, KeepTheSizeOfTheFirstStep) {
  for (const char* spec : {"sgd:momentum=0.9", "adam", "adamw"}) {
    const auto optimizer = make_optimizer(spec);
    Floats four = start(4);
    Floats five = start(5);
    optimizer->step(gradient_at(0, 4), 0.1F, four);
    EXPECT_THROW(optimizer->step(gradient_at(0, 5), 0.1F, five), Bug) << spec;
  }
}

TEST(Optimizers, AreListedOnceAndMadeByTheirNames) {
  std::set<std::string> names;
  for (const OptimizerInfo& info : builtin_optimizers().all()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(make_optimizer(info.name), nullptr);
  }
  EXPECT_EQ(names, (std::set<std::string>{"adam", "adamw", "sgd"}));
}

TEST(Optimizers, SuggestTheNearestName) {
  EXPECT_EQ(refusal("adamm"), "unknown optimizer 'adamm'; did you mean 'adam'? Known: sgd, adam, adamw");
  EXPECT_NE(refusal("lbfgs_b").find("known: sgd, adam, adamw"), std::string::npos);
}

TEST(Optimizers, SuggestTheNearestOption) {
  EXPECT_NE(refusal("sgd:momentun=0.9").find("did you mean 'momentum'?"), std::string::npos);
  EXPECT_NE(refusal("sgd:beta1=0.9").find("unknown option 'beta1'"), std::string::npos);
}

TEST(Optimizers, RefuseOptionsOutOfBounds) {
  for (const char* spec : {"sgd:momentum=1", "sgd:momentum=-0.1", "sgd:weight_decay=-1", "sgd:nesterov=maybe",
                           "adam:beta1=1", "adam:beta2=-1", "adam:epsilon=0", "adamw:weight_decay=nan", ""})
    EXPECT_THROW(make_optimizer(spec), InvalidConfig) << spec;
}

}  // namespace
}  // namespace tacit
