// SPDX-License-Identifier: MIT
// Data-parallel training for a LibTorch loop: call step() in place of optimizer.step().
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tacit/strategies/builtin.h"
#include "tacit/train/replica_worker.h"
#include "tacit/world/world.h"

namespace tacit::torch {

// What training has cost this rank so far, from when Replicated was made to finish(), without evaluations.
struct Account {
  std::int64_t steps = 0;
  std::uint64_t bytes_sent = 0;  // for training, framing included, by all that this rank trains
  double seconds = 0;            // of these
  double computing = 0;          // the loop's own time and the optimiser's
  double exchanging = 0;
  double waiting = 0;  // for ranks that had nothing on the way yet
};

// Keeps the replicas of a module together by a strategy. Works with any LibTorch optimiser that steps once per
// gradient: it is the inner optimiser, and its learning rate is the strategy's. The momentum of an SGD goes where
// `tacit train` has it (docs/compression.md): with ssgd and ef in front of the compressor, with compskip in
// Nesterov's form. docs/replicated.md has every method, and what each misuse says.
//
// Order     step(), or accumulate() any number of times and step(); exchange() and apply() are a step in two; finish()
//           at the end, and then only evaluation(), mean(), sum(), account() and advice().
// Lifetime  process, module and optimizer must outlive it, and it outlives what evaluation() returns. The destructor
//           warns on stderr where finish() is missing, unless an error was thrown.
// Threads   the rank's own.
// Errors    InvalidConfig for a bad spec, module or optimiser, for a call that does not belong here, and for weights
//           that somebody else changed; Mismatch for ranks that do different things or end with different weights;
//           then what Comm throws.
class Replicated {
 public:
  struct Options {
    std::uint64_t seed = 1;
    const StrategyRegistry* strategies = nullptr;  // default: the built-in ones
    std::string compress{};                        // `topk:ratio=0.01,ef`; empty: nothing is compressed
    // Runs between exchange and optimiser, when the module's gradients are those that the optimiser is about to apply:
    // the place to clip them. Refused by strategies that apply gradients on servers (ssd).
    std::function<void()> before_apply{};
    // For strategies that ask: the number of steps of the run, and the learning rate of step t, counted from 0, as far as
    // the loop's schedule is known. What it is now, the optimiser says.
    std::int64_t total = 0;
    std::function<double(std::int64_t t)> schedule{};
    // For strategies that need a gradient at a second point: runs forward and backward again on the batch of this step,
    // at the weights that the module then has, and returns the loss. Gradients are zero before it.
    std::function<double()> gradient{};
    // For strategies that choose what a rank computes: the same on one of the pieces of this step's global batch. A piece
    // is the same samples on every rank that is asked for it.
    std::function<double(std::int64_t piece)> gradient_of{};
    // Gradients leave while backward() computes others, by strategies that can (ssgd), in pieces of this size: `auto`,
    // `256KiB`; `whole`: all leave in step().
    std::string bucket = "whole";
    // Ranks may take different numbers of steps: the one that is done calls join(). Costs a round of messages per step.
    bool uneven = false;
    // The loop itself changes weights between steps, on purpose and alike on every rank, such as by clamping them. Not
    // for strategies that keep weights of their own (ssd, dc_s3gd, compskip and others).
    bool weights_may_change = false;
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
  // The same, where batches differ in size: this rank's gradient, a mean over so many samples, counts by them. For
  // strategies that average gradients at every step (ssgd), and on every rank or none.
  void step(std::int64_t samples);

  // The same with all that the loop may say of its batch.
  struct BatchFigures {
    std::optional<std::int64_t> samples{};
    std::optional<double> loss{};  // for strategies that look at it
  };
  void step(const BatchFigures& batch);

  // In place of step() after a micro-batch: keeps its gradient and clears it. The next step's gradient is the mean
  // over all of them, by samples where these are given, with what was computed since.
  void accumulate();
  void accumulate(std::int64_t samples);

  // step() in two: after exchange() the module's gradients are the mean over ranks, apply() lets the optimiser step.
  // For strategies whose step ends with the optimiser (ssgd).
  void exchange();
  void exchange(std::int64_t samples);
  void apply();

  // This rank has no more batches, with Options::uneven: takes part in the others' steps, with weight 0, until all
  // have joined. After it all ranks may begin anew, with the next epoch. finish() joins by itself. Collective.
  void join();

  // The strategy's model and averaged batch-norm statistics in place of the training point, until the guard
  // is dropped. Collective.
  [[nodiscard]] std::unique_ptr<EvaluationPoint> evaluation();

  // Of a figure that every rank has, such as a loss, over the ranks; ranks that have joined do not count. Collective.
  double mean(double mine);
  double sum(double mine);

  Account account() const;
  // One line on what might make the run faster, from what all ranks did with their time; empty where they compute most
  // of it. The same on every rank. Collective.
  std::string advice();

  // A checkpoint in this folder, step-N, after N steps: the model, and what each rank needs to go on, the optimiser's
  // state too. Written while training goes on; whole a few steps later, or when finish() or the next save() returns. So
  // many of the newest are kept. What cannot be written is warned of. Between two steps. Collective. docs/checkpoints.md
  void save(const std::string& folder, int keep = 2);
  // Goes on from the newest checkpoint in the folder, or from the one that it is; returns the steps that are done. Before
  // the first step; the loop then goes on with that step's batch. Throws InvalidConfig. Collective.
  std::int64_t load(const std::string& folder);

  // Ends every exchange; afterwards weights and float buffers are equal on every rank, which is checked. Collective.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit::torch
