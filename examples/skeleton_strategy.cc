// SPDX-License-Identifier: MIT
// A strategy of one's own, from the paper card to a run; docs/adding-a-strategy.md walks through it.
//   build/release/examples/example_skeleton_strategy
//
// Post-local SGD -- T. Lin, S. U. Stich, K. K. Patel, M. Jaggi, "Don't Use Large Mini-Batches, Use Local
// SGD", ICLR 2020, arXiv:1808.07217.
//
// Idea        average gradients at every step of the first phase; then step alone and average weights.
// Symbols     x_t^k = w.params()   K = w.size()   t' = switch_   H = period_
// Cost        one all-reduce of d floats per step before t', one per H steps after.
// Reduces to  ssgd where t' is the length of the run, local for t' = 0.
// Differs     the paper switches when the learning rate first falls; here the user names the step.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "tacit/strategies/builtin.h"
#include "tacit/train/trainer.h"

namespace {

class SyncThenLocal final : public tacit::Strategy {
 public:
  SyncThenLocal(std::int64_t switch_step, std::int64_t period) : switch_(switch_step), period_(period) {}

  void start(tacit::Worker& w) override {
    Strategy::start(w);
    gradients_ = w.make_mean({.sends = tacit::Sends::kGradients});  // plain or compressed: as the run says
  }

  void step(tacit::Worker& w) override {
    const bool together = w.t() < switch_;
    if (together) gradients_->mean(w, w.gradient());
    w.apply(w.gradient());
    if (together) return;
    apart_ = (w.t() + 1) % period_ != 0;
    if (!apart_) w.comm().mean(w.params());
  }

  void model(tacit::Worker& w, tacit::FloatView out) override {
    tacit::copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(tacit::Worker& w) override {
    if (apart_) w.comm().mean(w.params());
    apart_ = false;
    gradients_->finish(w);
  }

  // Whether replicas differ, and what a compressor has left out.
  void save(tacit::Worker& w, tacit::StateWriter& state) override {
    state.write("apart", std::uint64_t{apart_});
    gradients_->save(w, state);
  }
  void load(tacit::Worker& w, tacit::StateReader& state) override {
    apart_ = state.number("apart") != 0;
    gradients_->load(w, state);
  }

 private:
  const std::int64_t switch_;
  const std::int64_t period_;
  bool apart_ = false;  // whether replicas differ; the same on every rank
  std::unique_ptr<tacit::Mean> gradients_;
};

tacit::StrategyInfo sync_then_local_info() {
  return {"sync_then_local", "gradients averaged up to step `switch`, then weights every `period` steps",
          "arXiv:1808.07217", "sync_then_local:switch=32,period=4",
          [](tacit::OptionReader& options, int) -> std::unique_ptr<tacit::Strategy> {
            const auto switch_step =
                options.integer("switch", 100, 0, tacit::kMany, {"steps of the first phase"});
            const auto period =
                options.integer("period", 16, 1, tacit::kMany, {"steps between means of weights"});
            return std::make_unique<SyncThenLocal>(switch_step, period);
          },
          tacit::Sends::kGradients};
}

class Silent final : public tacit::TrainObserver {
 public:
  void on_steps(const tacit::StepsDone&) override {}
  void on_evaluation(const tacit::Evaluated&) override {}
};

void train() {
  tacit::StrategyRegistry strategies = tacit::builtin_strategies();  // a copy: registries are values
  strategies.add(sync_then_local_info());

  const tacit::DataPair data = tacit::load_dataset("synthetic");
  const tacit::ModelContext context{data.train.shape, data.train.classes, /*seed=*/1};
  tacit::TrainOptions options;
  options.strategy = "sync_then_local:switch=32,period=4";
  options.epochs = 2;
  Silent observer;
  const tacit::TrainJob job{
      data,    strategies, [&] { return tacit::make_model(tacit::builtin_models(), "logistic", context); },
      options, observer,   [] { return false; }};

  tacit::World world = tacit::World::threads(4);
  std::vector<tacit::RankReport> reports(4);
  world.run(
      [&](tacit::Process& me) { tacit::train_rank(me, job, reports[static_cast<std::size_t>(me.rank())]); });
  const tacit::Summary summary = tacit::summarize(job.options, reports, "finished");
  std::printf("%s: accuracy %.4f after %lld steps\n", summary.strategy.c_str(), summary.accuracy.value(),
              static_cast<long long>(summary.steps));
}

}  // namespace

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
