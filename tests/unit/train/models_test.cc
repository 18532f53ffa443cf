// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/rng.h"
#include "tacit/train/model.h"

namespace tacit {
namespace {

constexpr ImageShape kShape{2, 3, 3};
constexpr int kClasses = 4;

std::unique_ptr<Model> make(const std::string& spec, std::uint64_t seed = 1) {
  return make_model(builtin_models(), spec, ModelContext{kShape, kClasses, seed});
}

// Samples around one random prototype per class: a task that every model can learn.
Batch some_batch(std::size_t count, float noise = 0.3F) {
  Rng rng(11, 0, 0, Rng::Use::kData);
  std::vector<float> prototypes(kClasses * kShape.size());
  for (float& x : prototypes) x = rng.normal();
  Batch batch{kShape, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t label = i % kClasses;
    batch.labels.push_back(static_cast<std::int64_t>(label));
    for (std::size_t j = 0; j < kShape.size(); ++j)
      batch.images.push_back(prototypes[label * kShape.size() + j] + noise * rng.normal());
  }
  return batch;
}

std::vector<float> copy_of(FloatView x) { return {x.host().begin(), x.host().end()}; }

double mean_loss(Model& model, const Batch& batch) {
  const Score score = model.evaluate(batch);
  return score.loss / static_cast<double>(score.samples);
}

// What a model says is final, from the last float down.
TEST(Models, TellOfFinalPartsOnceAndFromTheLastDown) {
  for (const char* spec : {"logistic", "mlp:hidden=5"}) {
    const auto model = make(spec);
    std::vector<float> told(model->gradient().size());
    std::size_t end = told.size();
    std::size_t parts = 0;
    model->compute_gradient(some_batch(12), [&](Slice part) {
      for (std::size_t i = part.offset; i < part.offset + part.count; ++i)
        told[i] = model->gradient().host()[i];
      EXPECT_EQ(part.offset + part.count, end) << spec;
      end = part.offset;
      ++parts;
    });
    EXPECT_EQ(end, 0U);
    EXPECT_GE(parts, model->tensors().size());
    EXPECT_EQ(told, copy_of(model->gradient())) << spec;
  }
}

TEST(Models, TellOfNothingWhereTheLossIsNotFinite) {
  for (const char* spec : {"logistic", "mlp:hidden=5"}) {
    const auto model = make(spec);
    kernels::fill(std::numeric_limits<float>::quiet_NaN(), model->params());
    int parts = 0;
    EXPECT_TRUE(std::isnan(model->compute_gradient(some_batch(12), [&](Slice) { ++parts; }))) << spec;
    EXPECT_EQ(parts, 0) << spec;
  }
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, TensorsTileTheParametersExactly) {
  const auto model = make(GetParam());
  std::size_t end = 0;
  for (const Slice& tensor : model->tensors()) {
    EXPECT_EQ(tensor.offset, end);
    EXPECT_GT(tensor.count, 0U);
    end += tensor.count;
  }
  EXPECT_EQ(end, model->params().size());
  EXPECT_EQ(model->gradient().size(), model->params().size());
}

TEST_P(EveryModel, GradientIsTheSlopeOfTheLoss) {
  const auto model = make(GetParam());
  Rng rng(5, 0, 0, Rng::Use::kInit);
  for (float& x : model->params().host()) x += 0.1F * rng.normal();  // away from the logistic model's zero
  const Batch batch = some_batch(12);
  model->compute_gradient(batch);
  const std::vector<float> gradient = copy_of(model->gradient());
  const float steepest = std::abs(*std::max_element(
      gradient.begin(), gradient.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  ASSERT_GT(steepest, 0.01F);
  for (int probe = 0; probe < 30; ++probe) {
    const std::size_t j = rng.below(gradient.size());
    constexpr float kStep = 1.0F / 512;
    float& x = model->params().host()[j];
    const float middle = x;
    x = middle + kStep;
    const float right = x;
    const double above = mean_loss(*model, batch);
    x = middle - kStep;
    const float left = x;
    const double below = mean_loss(*model, batch);
    x = middle;
    const double slope = (above - below) / static_cast<double>(right - left);
    EXPECT_NEAR(static_cast<double>(gradient[j]), slope,
                1e-2 * std::abs(slope) + 1e-3 * static_cast<double>(steepest))
        << "coordinate " << j;
  }
}

TEST_P(EveryModel, ComputeGradientReturnsTheMeanLossThatEvaluateSums) {
  const auto model = make(GetParam());
  const Batch batch = some_batch(10);
  EXPECT_NEAR(model->compute_gradient(batch), mean_loss(*model, batch), 1e-12);
}

TEST_P(EveryModel, GradientIsFreshAtEveryCallAndLeavesTheWeights) {
  const auto model = make(GetParam());
  const Batch batch = some_batch(10);
  const std::vector<float> weights = copy_of(model->params());
  model->compute_gradient(batch);
  const std::vector<float> first = copy_of(model->gradient());
  model->compute_gradient(some_batch(3));
  EXPECT_NE(copy_of(model->gradient()), first);
  model->compute_gradient(batch);
  EXPECT_EQ(copy_of(model->gradient()), first);
  EXPECT_EQ(copy_of(model->params()), weights);
}

TEST_P(EveryModel, GradientOfABatchIsTheMeanOfItsSamplesGradients) {
  const auto model = make(GetParam());
  const Batch batch = some_batch(6);
  std::vector<double> mean(model->params().size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto from = batch.images.begin() + static_cast<std::ptrdiff_t>(i * kShape.size());
    const Batch one{kShape, {from, from + static_cast<std::ptrdiff_t>(kShape.size())}, {batch.labels[i]}};
    model->compute_gradient(one);
    for (std::size_t j = 0; j < mean.size(); ++j)
      mean[j] += static_cast<double>(model->gradient().host()[j]) / 6;
  }
  model->compute_gradient(batch);
  for (std::size_t j = 0; j < mean.size(); ++j)
    EXPECT_NEAR(static_cast<double>(model->gradient().host()[j]), mean[j], 1e-5 * (1 + std::abs(mean[j])));
}

TEST_P(EveryModel, EqualSeedsGiveEqualWeights) {
  EXPECT_EQ(copy_of(make(GetParam(), 7)->params()), copy_of(make(GetParam(), 7)->params()));
}

TEST_P(EveryModel, OtherSeedsGiveOtherWeightsUnlessItStartsAtZero) {
  const std::vector<float> weights = copy_of(make(GetParam(), 7)->params());
  const std::vector<float> others = copy_of(make(GetParam(), 8)->params());
  if (GetParam() == "logistic") {
    EXPECT_EQ(weights, std::vector<float>(weights.size(), 0.0F));
    EXPECT_EQ(others, weights);
  } else {
    EXPECT_NE(others, weights);
  }
}

TEST_P(EveryModel, EvaluateCountsEverySampleAndChangesNothing) {
  const auto model = make(GetParam());
  const std::vector<float> weights = copy_of(model->params());
  const Batch batch = some_batch(9);
  const Score score = model->evaluate(batch);
  EXPECT_EQ(score.samples, 9);
  EXPECT_GT(score.loss, 0);
  EXPECT_LE(score.correct, 9);
  EXPECT_EQ(copy_of(model->params()), weights);
}

TEST_P(EveryModel, GradientDescentLowersTheLoss) {
  const auto model = make(GetParam());
  const Batch batch = some_batch(40);
  const double before = mean_loss(*model, batch);
  double last = before;
  for (int step = 0; step < 200; ++step) {
    last = model->compute_gradient(batch);
    for (std::size_t j = 0; j < model->params().size(); ++j)
      model->params().host()[j] -= 0.1F * model->gradient().host()[j];
  }
  EXPECT_LT(last, 0.9 * before);
  if (GetParam() != "quadratic") {  // which has no classes
    EXPECT_LT(last, 0.2 * before);
    EXPECT_EQ(model->evaluate(batch).correct, 40);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryModel, ::testing::Values("logistic", "mlp:hidden=7", "quadratic"),
                         [](const auto& model) { return model.param.substr(0, model.param.find(':')); });

TEST(Logistic, EvaluatesAHandMadeBatchRightly) {
  const auto model = make_model(builtin_models(), "logistic", ModelContext{ImageShape{1, 1, 2}, 2, 1});
  const std::span<float> x = model->params().host();  // two rows of weights, then two biases
  ASSERT_EQ(x.size(), 6U);
  const std::vector<float> weights{1, 0, 0, 1, 0, 0.5F};
  std::copy(weights.begin(), weights.end(), x.begin());
  // Scores (3, 1.5), (0, 2.5) and (1, 1.5): the answers are 0, 1 and 1.
  const Batch batch{ImageShape{1, 1, 2}, {3, 1, 0, 2, 1, 1}, {0, 1, 0}};
  const Score score = model->evaluate(batch);
  EXPECT_EQ(score.samples, 3);
  EXPECT_EQ(score.correct, 2);
  const double want = std::log1p(std::exp(-1.5)) + std::log1p(std::exp(-2.5)) + std::log1p(std::exp(0.5));
  EXPECT_NEAR(score.loss, want, 1e-6);
}

TEST(Logistic, AtZeroEveryClassIsAsLikely) {
  EXPECT_NEAR(mean_loss(*make("logistic"), some_batch(8)), std::log(kClasses), 1e-6);
}

TEST(Logistic, HugeScoresDoNotOverflow) {
  const auto model = make_model(builtin_models(), "logistic", ModelContext{ImageShape{1, 1, 1}, 2, 1});
  model->params().host()[0] = 1000;
  const Batch batch{ImageShape{1, 1, 1}, {1}, {1}};
  EXPECT_NEAR(model->compute_gradient(batch), 1000, 1e-3);
  EXPECT_EQ(copy_of(model->gradient()), (std::vector<float>{1, -1, 1, -1}));
}

TEST(Mlp, EvaluatesAHandMadeBatchRightly) {
  const auto model = make_model(builtin_models(), "mlp:hidden=2", ModelContext{ImageShape{1, 1, 1}, 2, 1});
  const std::span<float> x = model->params().host();
  ASSERT_EQ(x.size(), 10U);  // 2 weights, 2 biases, 4 weights, 2 biases
  const std::vector<float> weights{1, -1, 0, 0, 1, 0, 0, 1, 0, 0};
  std::copy(weights.begin(), weights.end(), x.begin());
  // Scores (max(x, 0), max(-x, 0)): a positive image is of class 0, a negative one of class 1.
  const Batch batch{ImageShape{1, 1, 1}, {2, -3, 1, -1}, {0, 1, 1, 0}};
  const Score score = model->evaluate(batch);
  EXPECT_EQ(score.samples, 4);
  EXPECT_EQ(score.correct, 2);
  const double want = std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-3.0)) + 2 * std::log1p(std::exp(1.0));
  EXPECT_NEAR(score.loss, want, 1e-6);
}

TEST(Mlp, HiddenSetsTheNumberOfUnits) {
  const std::size_t inputs = kShape.size();
  EXPECT_EQ(make("mlp:hidden=7")->params().size(), (inputs + 1) * 7 + (7 + 1) * kClasses);
  EXPECT_EQ(make("mlp")->params().size(), (inputs + 1) * 128 + (128 + 1) * kClasses);
}

TEST(Mlp, StartsWithinTheBoundOfEachLayer) {
  const auto model = make("mlp:hidden=64");
  const std::vector<float> weights = copy_of(model->params());
  const std::size_t second = model->tensors()[2].offset;
  const auto largest = [&](std::size_t from, std::size_t to) {
    float most = 0;
    for (std::size_t j = from; j < to; ++j) most = std::max(most, std::abs(weights[j]));
    return most;
  };
  const float first_bound = 1.0F / std::sqrt(static_cast<float>(kShape.size()));
  EXPECT_LE(largest(0, second), first_bound);
  EXPECT_GT(largest(0, second), 0.9F * first_bound);
  EXPECT_LE(largest(second, weights.size()), 0.125F);
  EXPECT_GT(largest(second, weights.size()), 0.9F * 0.125F);
}

TEST(Quadratic, EvaluatesAHandMadeBatchRightly) {
  const ModelContext context{ImageShape{1, 1, 3}, 2, 1};
  const auto model = make_model(builtin_models(), "quadratic:condition=5", context);
  const std::vector<float> weights{1, 1, 1};
  std::copy(weights.begin(), weights.end(), model->params().host().begin());
  // Curvatures 1, 3 and 5.
  const Batch batch{ImageShape{1, 1, 3}, {0, 1, 1, 1, -1, 3}, {0, 1}};
  const Score score = model->evaluate(batch);
  EXPECT_EQ(score.samples, 2);
  EXPECT_EQ(score.correct, 0);
  EXPECT_NEAR(score.loss, 0.5 + 0.5 * 3 * 4 + 0.5 * 5 * 4, 1e-9);
  model->compute_gradient(batch);
  EXPECT_EQ(copy_of(model->gradient()), (std::vector<float>{0.5F, 3, -5}));
}

TEST(Quadratic, GradientVanishesAtTheMeanImage) {
  const auto model = make("quadratic");
  const Batch batch = some_batch(8);
  for (std::size_t j = 0; j < kShape.size(); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i)
      sum += static_cast<double>(batch.images[i * kShape.size() + j]);
    model->params().host()[j] = static_cast<float>(sum / static_cast<double>(batch.size()));
  }
  const double lowest = model->compute_gradient(batch);
  for (const float g : model->gradient().host()) EXPECT_NEAR(g, 0, 1e-5);
  model->params().host()[3] += 0.1F;
  EXPECT_GT(model->compute_gradient(batch), lowest);
}

TEST(Scores, AddUp) {
  Score total{1.5, 2, 3};
  total += Score{0.5, 1, 4};
  EXPECT_EQ(total.loss, 2.0);
  EXPECT_EQ(total.correct, 3);
  EXPECT_EQ(total.samples, 7);
}

std::string refusal(const std::string& spec) {
  return test::refusal([&] { make(spec); });
}

TEST(BuiltinModels, AreTheseThree) {
  EXPECT_EQ(builtin_models().names(), (std::vector<std::string>{"logistic", "mlp", "quadratic"}));
}

TEST(BuiltinModels, AnUnknownModelIsRefusedWithASuggestion) {
  EXPECT_NE(refusal("logistik").find("unknown model 'logistik'; did you mean 'logistic'?"), std::string::npos)
      << refusal("logistik");
}

TEST(BuiltinModels, AnUnknownOptionIsRefusedWithASuggestion) {
  EXPECT_NE(refusal("mlp:hiden=7").find("mlp: unknown option 'hiden'; did you mean 'hidden'?"),
            std::string::npos)
      << refusal("mlp:hiden=7");
  EXPECT_NE(refusal("logistic:hidden=7").find("unknown option 'hidden'"), std::string::npos);
}

TEST(BuiltinModels, AnOptionOutOfBoundsIsRefused) {
  EXPECT_NE(refusal("mlp:hidden=0").find("hidden=0"), std::string::npos);
  EXPECT_NE(refusal("quadratic:condition=0.5").find("condition=0.5"), std::string::npos);
}

}  // namespace
}  // namespace tacit
