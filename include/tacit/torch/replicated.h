// SPDX-License-Identifier: MIT
// Data-parallel training for a LibTorch loop: call step() in place of optimizer.step().
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <string_view>

#include "tacit/strategies/builtin.h"
#include "tacit/train/replica_worker.h"
#include "tacit/world/world.h"

namespace tacit::torch {

// Keeps the replicas of a module together by a strategy. Works with any LibTorch optimiser: it is the inner
// optimiser, and its learning rate is the strategy's. The momentum of an SGD goes where `tacit train` has it
// (train/momentum_place.h): with ssgd and ef in front of the compressor, with compskip in Nesterov's form.
//
// Lifetime  process, module and optimizer must outlive it. finish() is collective and comes before the end.
// Threads   the rank's own.
// Errors    InvalidConfig for a bad spec or module, or for a momentum that cannot go there; then what Comm throws.
class Replicated {
 public:
  struct Options {
    std::uint64_t seed = 1;
    const StrategyRegistry* strategies = nullptr;  // default: the built-in ones
    std::string compress;                          // `topk:ratio=0.01,ef`; empty: nothing is compressed
  };

  // Collective: afterwards every rank has rank 0's parameters, frozen ones too, and buffers.
  Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
             std::string_view strategy);
  Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
             std::string_view strategy, const Options& options);
  ~Replicated();
  Replicated(const Replicated&) = delete;
  Replicated& operator=(const Replicated&) = delete;

  // The gradients are fresh: exchanges what the strategy exchanges and lets the optimiser step.
  void step();

  // The strategy's model and averaged batch-norm statistics in place of the training point, until the guard
  // is dropped. Collective.
  [[nodiscard]] std::unique_ptr<EvaluationPoint> evaluation();

  // Ends every exchange; afterwards weights and float buffers are equal on every rank.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit::torch
