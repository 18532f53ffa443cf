// SPDX-License-Identifier: MIT
// A whole run in a few lines, for laws of strategies.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/trainer.h"

namespace tacit::test {

inline void expect_near(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "parameter " << i;
}

class NoObserver : public TrainObserver {
 public:
  void on_steps(const StepsDone&) override {}
  void on_evaluation(const Evaluated&) override {}
};

struct TrainCase {
  std::string strategy = "ssgd";
  int ranks = 4;
  std::int64_t steps = 20;
  std::int64_t global_batch = 40;  // divisible by every number of ranks in the tests
  std::string model = "mlp:hidden=9";
  std::string optimizer = "sgd";
  double lr = 0.1;
  std::uint64_t seed = 1;
  std::string schedule = "constant";
  std::string compress = "";
  std::string bucket = "auto";
  const ModelRegistry* models = nullptr;  // default: the built-in ones
  CheckpointOptions checkpoint{};
  TrainObserver* observer = nullptr;  // default: nobody looks
  std::string shards = "iid";
};

struct Trained {
  Summary summary;
  std::vector<std::vector<float>> params;  // by rank, after finish()
  double first_loss = 0;                   // at rank 0
};

inline const DataPair& test_data() {
  static const DataPair data = load_dataset("synthetic:samples=960,test=200,size=8,classes=4,noise=0.2");
  return data;
}
inline ModelContext test_context(std::uint64_t seed) {
  return {test_data().train.shape, test_data().train.classes, seed};
}

// Keeps a rank's model after the run, so that its weights can be read.
class KeptModel final : public Model {
 public:
  KeptModel(std::unique_ptr<Model> inner, std::vector<float>& params, double& first_loss)
      : inner_(std::move(inner)), kept_(params), first_loss_(first_loss) {}
  ~KeptModel() override { kept_.assign(inner_->params().host().begin(), inner_->params().host().end()); }
  KeptModel(const KeptModel&) = delete;
  KeptModel& operator=(const KeptModel&) = delete;
  std::span<const Slice> tensors() const override { return inner_->tensors(); }
  std::span<const std::size_t> rows() const override { return inner_->rows(); }
  std::vector<TensorShape> shapes() override { return inner_->shapes(); }
  FloatView params() override { return inner_->params(); }
  FloatView gradient() override { return inner_->gradient(); }
  double compute_gradient(const Batch& batch, const Ready& ready) override {
    const double loss = inner_->compute_gradient(batch, ready);
    if (!began_) first_loss_ = loss;
    began_ = true;
    return loss;
  }
  Score evaluate(const Batch& batch) override { return inner_->evaluate(batch); }

 private:
  std::unique_ptr<Model> inner_;
  std::vector<float>& kept_;
  double& first_loss_;
  bool began_ = false;
};

// By ranks that are all in this process: `run` does a body on each of them.
inline Trained train_by(const std::function<void(const std::function<void(Process&)>& body)>& run,
                        const TrainCase& c, const StrategyRegistry& strategies = builtin_strategies()) {
  Trained out;
  const auto ranks = static_cast<std::size_t>(c.ranks);
  out.params.resize(ranks);
  std::vector<double> first(ranks);
  std::vector<RankReport> reports(ranks);
  NoObserver nobody;
  TrainObserver& observer = c.observer != nullptr ? *c.observer : nobody;
  TrainOptions options;
  options.strategy = c.strategy;
  options.compress = c.compress;
  options.bucket = c.bucket;
  options.optimizer = c.optimizer;
  options.schedule = c.schedule;
  options.batch = c.global_batch / c.ranks;
  options.shards = c.shards;
  options.lr = c.lr;
  options.seed = c.seed;
  options.steps = c.steps;
  options.checkpoint = c.checkpoint;
  const TrainJob shared{test_data(), strategies, nullptr, options, observer, [] { return false; }};
  run([&](Process& me) {
    const auto rank = static_cast<std::size_t>(me.rank());
    TrainJob job = shared;
    job.make_model = [&] {
      const ModelRegistry& models = c.models != nullptr ? *c.models : builtin_models();
      return std::make_unique<KeptModel>(make_model(models, c.model, test_context(c.seed)), out.params[rank],
                                         first[rank]);
    };
    train_rank(me, job, reports[rank]);
  });
  if (!all_equal(reports)) throw Bug("ranks ended with different weights");
  out.summary = summarize(options, reports, "finished");
  out.first_loss = first[0];
  return out;
}

inline Trained train_in(World& world, const TrainCase& c,
                        const StrategyRegistry& strategies = builtin_strategies()) {
  return train_by([&](const std::function<void(Process&)>& body) { world.run(body); }, c, strategies);
}

inline Trained train(const TrainCase& c, const StrategyRegistry& strategies = builtin_strategies()) {
  World world = World::threads(c.ranks, {.limits = {Seconds(60), Seconds(20), nullptr}});
  return train_in(world, c, strategies);
}

}  // namespace tacit::test
