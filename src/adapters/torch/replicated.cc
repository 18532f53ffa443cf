// SPDX-License-Identifier: MIT
#include "tacit/torch/replicated.h"

#include "adapters/torch/flat_optimizer.h"
#include "adapters/torch/inner_step.h"
#include "adapters/torch/settings_of.h"
#include "tacit/torch/flat_module.h"

namespace tacit::torch {
namespace {

class TorchWorker final : public ReplicaWorker {
 public:
  TorchWorker(Process& process, FlatModule& flat, ::torch::optim::Optimizer& optimizer, InnerStep& inner,
              std::uint64_t seed)
      : ReplicaWorker(process, seed), flat_(flat), optimizer_(optimizer), inner_(inner) {}

  float lr() const override { return static_cast<float>(optimizer_.param_groups().at(0).options().get_lr()); }
  FloatView params() override { return flat_.params(); }
  FloatView gradient() override { return flat_.gradient(); }
  void apply(ConstFloatView g) override {
    if (g.data() != flat_.gradient().data()) copy(g, flat_.gradient());
    inner_();
  }
  std::unique_ptr<Optimizer> new_optimizer() const override { return flat_optimizer(optimizer_); }
  std::span<const Slice> tensors() const override { return flat_.tensors(); }
  std::span<const std::size_t> rows() const override { return flat_.rows(); }
  std::span<const FloatView> buffers() override { return flat_.buffers(); }

 private:
  FlatModule& flat_;
  ::torch::optim::Optimizer& optimizer_;
  InnerStep& inner_;
};

}  // namespace

class Replicated::Impl {
 public:
  Impl(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
       std::string_view strategy, const Options& options)
      : process_(process),
        known_(options.strategies != nullptr ? *options.strategies : builtin_strategies()),
        flat_(module),
        inner_(optimizer, known_.find(strategy).sends, options.compress),
        worker_(process, flat_, optimizer, inner_, options.seed),
        strategy_(make_strategy(known_, strategy, process.size(), inner_.compress())) {
    agree(process.control(), settings_of(module, optimizer, strategy, options));
    // Modules of ranks that are threads draw from one generator, so even what is not trained differs.
    for (const Bytes tensor : flat_.fixed()) process.comm().broadcast(tensor, 0);
    strategy_->start(worker_);
  }

  void step() {
    flat_.collect_gradients();
    process_.spend_compute(worker_.t());
    strategy_->step(worker_);
    worker_.set_t(worker_.t() + 1);
  }
  void finish() {
    strategy_->finish(worker_);
    worker_.average_buffers();
  }

  std::unique_ptr<EvaluationPoint> evaluation() {
    return std::make_unique<EvaluationPoint>(worker_, *strategy_);
  }

 private:
  Process& process_;
  const StrategyRegistry& known_;
  FlatModule flat_;
  InnerStep inner_;
  TorchWorker worker_;
  std::unique_ptr<Strategy> strategy_;
};

Replicated::Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
                       std::string_view strategy)
    : Replicated(process, module, optimizer, strategy, Options{}) {}
Replicated::Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
                       std::string_view strategy, const Options& options)
    : impl_(std::make_unique<Impl>(process, module, optimizer, strategy, options)) {}
Replicated::~Replicated() = default;
void Replicated::step() { impl_->step(); }
std::unique_ptr<EvaluationPoint> Replicated::evaluation() { return impl_->evaluation(); }
void Replicated::finish() { impl_->finish(); }

}  // namespace tacit::torch
