// SPDX-License-Identifier: MIT
#include "tacit/train/trainer.h"

#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include "support/refusal.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

class Recorder final : public TrainObserver {
 public:
  void on_steps(const StepsDone& event) override {
    const std::lock_guard lock(mutex);
    steps.push_back(event);
  }
  void on_evaluation(const Evaluated& event) override {
    const std::lock_guard lock(mutex);
    evaluations.push_back(event);
  }
  std::mutex mutex;
  std::vector<StepsDone> steps;
  std::vector<Evaluated> evaluations;
};

struct Outcome {
  Recorder recorder;
  std::vector<RankReport> reports;
  Summary summary;
};

// Trains a small MLP; prepare may change the job of a rank.
void run(Outcome& out, int ranks, const TrainOptions& options,
         const std::function<void(int, TrainJob&)>& prepare = {}) {
  out.reports.resize(static_cast<std::size_t>(ranks));
  World world = World::threads(ranks, {.limits = {Seconds(60), Seconds(20), nullptr}});
  const TrainJob shared{test_data(),
                        builtin_strategies(),
                        [] { return make_model(builtin_models(), "mlp:hidden=9", test_context(1)); },
                        options,
                        out.recorder,
                        [] { return false; }};
  world.run([&](Process& me) {
    TrainJob job = shared;
    if (prepare) prepare(me.rank(), job);
    train_rank(me, job, out.reports[static_cast<std::size_t>(me.rank())]);
  });
  out.summary = summarize(shared.options, out.reports, "finished");
}

TrainOptions options(std::int64_t batch) {
  TrainOptions o;
  o.batch = batch;
  o.optimizer = "sgd";
  o.lr = 0.1;
  return o;
}

TEST(Trainer, LogsEveryRankAndEvaluatesOncePerEpoch) {
  TrainOptions o = options(60);  // 960 samples, 4 ranks: 4 steps per epoch
  o.epochs = 3;
  o.log_every = 2;
  Outcome r;
  run(r, 4, o);
  EXPECT_EQ(r.recorder.steps.size(), 4U * 6U);
  ASSERT_EQ(r.recorder.evaluations.size(), 3U);
  EXPECT_EQ(r.recorder.evaluations[2].step, 12);
  EXPECT_DOUBLE_EQ(r.recorder.evaluations[2].epoch, 3);
  EXPECT_EQ(r.summary.steps, 12);
  EXPECT_EQ(r.summary.samples, 12 * 240);
  EXPECT_EQ(r.summary.accuracy, r.recorder.evaluations[2].accuracy);
  EXPECT_EQ(r.summary.weights_hash.size(), 16U);
}

TEST(Trainer, ComputingExchangingAndWaitingAddUpToTheTimeOfEachRank) {
  for (const int ranks : {1, 3})
    for (const char* strategy : {"ssgd", "dc_s3gd", "wagma:group=1", "local:period=2"}) {
      TrainOptions o = options(60);
      o.strategy = strategy;
      o.steps = 6;
      o.evaluate_every = 1;  // dc_s3gd then waits before evaluations for what a gradient would have hidden
      Outcome r;
      run(r, ranks, o);
      ASSERT_EQ(r.summary.ranks.size(), static_cast<std::size_t>(ranks)) << strategy;
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < r.summary.ranks.size(); ++i) {
        const RankTimes& each = r.summary.ranks[i];
        EXPECT_EQ(each.rank, static_cast<int>(i));
        EXPECT_GT(each.compute, 0);
        EXPECT_GE(each.communicate, 0);
        EXPECT_GE(each.wait, 0);
        EXPECT_NEAR(each.compute + each.communicate + each.wait, r.reports[i].seconds, 1e-9);
        EXPECT_LE(each.wait, ranks == 1 ? 1e-9 : r.reports[i].seconds) << strategy;
        bytes += each.bytes;
      }
      EXPECT_EQ(bytes, r.summary.bytes_wire);
      EXPECT_GT(r.summary.compute_seconds.value_or(0), 0);
    }
}

TEST(Trainer, StepsTakeThePlaceOfEpochsAndMayPassThem) {
  TrainOptions o = options(60);
  o.steps = 6;
  Outcome r;
  run(r, 4, o);
  EXPECT_EQ(r.summary.steps, 6);
  ASSERT_EQ(r.recorder.evaluations.size(), 2U);
  EXPECT_DOUBLE_EQ(r.recorder.evaluations[1].epoch, 1.5);
}

TEST(Trainer, LossCurvesAgreeForEveryNumberOfRanksAtTheSameGlobalBatch) {
  const auto curve = [](int ranks) {
    TrainOptions o = options(80 / ranks);
    o.log_every = 1;
    Outcome r;
    run(r, ranks, o);
    std::vector<double> losses(static_cast<std::size_t>(r.summary.steps));
    for (const StepsDone& s : r.recorder.steps)
      losses[static_cast<std::size_t>(s.step - 1)] += s.loss / ranks;
    return losses;
  };
  const auto one = curve(1);
  ASSERT_EQ(one.size(), 12U);
  for (const int ranks : {2, 4}) {
    const auto many = curve(ranks);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_NEAR(many[i], one[i], 1e-4) << ranks << " ranks, step " << i;
  }
}

TEST(Trainer, EvaluationLeavesTrainingAlone) {
  TrainOptions often = options(60);
  often.strategy = "local:period=7";
  often.epochs = 2;
  TrainOptions once = often;
  once.steps = 8;
  Outcome a;
  Outcome b;
  run(a, 4, often);
  run(b, 4, once);
  EXPECT_EQ(a.summary.weights_hash, b.summary.weights_hash);
  EXPECT_EQ(a.summary.bytes_payload, b.summary.bytes_payload);  // evaluating is not part of the cost
}

// A model whose loss is not a number at one step.
class Poisoned final : public Model {
 public:
  explicit Poisoned(double poison)
      : poison_(poison), inner_(make_model(builtin_models(), "logistic", test_context(1))) {}
  std::span<const Slice> tensors() const override { return inner_->tensors(); }
  FloatView params() override { return inner_->params(); }
  FloatView gradient() override { return inner_->gradient(); }
  double compute_gradient(const Batch& batch, const Ready& ready) override {
    const double loss = inner_->compute_gradient(batch, ready);
    return ++steps_ == 4 ? poison_ : loss;
  }
  Score evaluate(const Batch& batch) override { return inner_->evaluate(batch); }

 private:
  const double poison_;
  std::unique_ptr<Model> inner_;
  int steps_ = 0;
};

TEST(Trainer, ALossThatIsNotFiniteStopsTheRunAndNamesRankAndStep) {
  for (const double poison :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Outcome r;
    try {
      run(r, 3, options(40), [&](int rank, TrainJob& job) {
        if (rank == 1)
          job.make_model = [=] { return std::make_unique<Poisoned>(poison); };
        else
          job.make_model = [] { return make_model(builtin_models(), "logistic", test_context(1)); };
      });
      FAIL() << "trained on";
    } catch (const Diverged& error) {
      EXPECT_EQ(error.rank, 1);
      EXPECT_EQ(error.step, 3);
    }
    EXPECT_EQ(r.reports[1].steps, 3);
  }
}

TEST(Trainer, StoppingLeavesATrueAccount) {
  TrainOptions o = options(40);
  o.log_every = 1;
  Outcome r;
  int asked = 0;
  EXPECT_THROW(run(r, 1, o, [&](int, TrainJob& job) { job.stop = [&] { return ++asked > 5; }; }),
               Interrupted);
  EXPECT_EQ(r.reports[0].steps, 5);
  EXPECT_EQ(r.recorder.steps.size(), 5U);
}

TEST(Trainer, RanksOfWhichSomeGoOnAndOthersBeginAreRefused) {
  TrainOptions o = options(60);
  o.steps = 2;
  const auto one_resumes = [](int rank, TrainJob& job) {
    if (rank == 1) job.options.checkpoint.resume = "saved";
  };
  expect_refusal(
      [&] {
        Outcome r;
        run(r, 3, o, one_resumes);
      },
      {"a checkpoint to go on from is not there on ranks 0 and 2 and there on rank 1"});
}

TEST(Trainer, ABatchThatDoesNotFitIsRefused) {
  EXPECT_THROW(total_steps(options(1000), 960, 1), InvalidConfig);
  EXPECT_THROW(total_steps(options(500), 960, 2), InvalidConfig);
}

}  // namespace
}  // namespace tacit::test
