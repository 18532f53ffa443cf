// SPDX-License-Identifier: MIT
// One rank's part of Replicated.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "adapters/torch/checkpoints.h"
#include "adapters/torch/micro_batches.h"
#include "adapters/torch/overlap.h"
#include "adapters/torch/roll_call.h"
#include "adapters/torch/torch_worker.h"
#include "adapters/torch/weight_sample.h"
#include "tacit/torch/replicated.h"

namespace tacit::torch {

// A rank without batches is a shadow: its gradient, and where ranks have different weights these too, are the mean of
// those that have some, and it takes the strategy's step like all others. So a mean over all ranks is the mean over
// those with batches, for every strategy, and none knows of it.
class Replica {
 public:
  using Samples = MicroBatches::Samples;
  struct Given {
    ::torch::nn::Module& module;
    ::torch::optim::Optimizer& optimizer;
    std::string strategy;
    Replicated::Options options;
  };
  Replica(Process& process, const Given& given);

  void step(Samples samples, std::optional<double> loss = {});
  void accumulate(Samples samples);
  void exchange(Samples samples);
  void apply();
  void join();
  std::unique_ptr<EvaluationPoint> evaluation();
  struct Metric {
    double mean;
    double sum;
  };
  Metric metric(double mine);
  Account account() const;
  std::string advice();
  void save(const std::string& folder, int keep);
  std::int64_t load(const std::string& folder);
  void finish();
  bool finished() const { return state_ == State::kFinished; }

 private:
  Replica(Process& process, const Given& given, std::unique_ptr<Strategy> strategy);
  enum class State { kTraining, kExchanged, kFinished };

  void require_training(const std::string& call) const;
  void require_no_point(const std::string& call) const;
  void require_no_batches(const std::string& call) const;
  [[noreturn]] void refuse(const std::string& call, const std::string& why) const;
  void look(const std::string& call);
  void exchange_gradients(const std::string& call, Samples samples);
  RollCall call_roll(Word word);
  Word word(Samples samples);
  void weigh(Samples samples, const RollCall& all);
  void shadow_step(const RollCall& all);
  void support_shadows(const RollCall& all, bool shadow);
  void stand_in(FloatView x, const RollCall& all, bool shadow);
  void end_step();
  void compare_weights(const std::string& call);
  std::uint64_t bytes_sent() const;
  Seconds now() const { return process_.tasks().clock().now(); }

  Process& process_;
  const Replicated::Options options_;
  const StrategyRegistry& known_;
  const StrategyInfo& info_;
  const std::string strategy_text_;
  ::torch::nn::Module& module_;
  ::torch::optim::Optimizer& optimizer_;
  std::size_t optimized_;  // parameters of the optimiser
  FlatModule flat_;
  InnerStep inner_;
  TimeAccount times_;
  TorchWorker worker_;
  WeightSample sample_;
  MicroBatches batches_;
  Overlap overlap_;
  State state_ = State::kTraining;
  std::int64_t steps_ = 0;  // of its own, not those as a shadow
  const std::uint64_t bytes_before_;
  const Seconds start_;
  std::optional<Seconds> end_;  // of training
  Checkpoints checkpoints_;
  std::unique_ptr<Strategy> strategy_;  // last: it ends before what it uses
};

}  // namespace tacit::torch
