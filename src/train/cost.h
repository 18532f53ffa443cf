// SPDX-License-Identifier: MIT
// A run in which nothing is computed: messages have their sizes and steps their times, vectors have no content.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "tacit/strategy/registry.h"
#include "tacit/train/trainer.h"

namespace tacit {

// A model of which only the size counts.
struct NamedSize {
  std::string name;
  std::size_t parameters;
};
// resnet50, bert-large, gpt2-xl.
std::span<const NamedSize> named_sizes();

// What all ranks share, read-only. `vector`, which has no content (phantom_space()), stands for all weights and all gradients.
struct CostJob {
  const StrategyRegistry& strategies;
  TrainOptions options;  // steps is the number of them; data, learning rate and optimiser do not count
  FloatView vector;
  TrainObserver& observer;
  std::function<bool()> stop;
};

// Runs one rank to the end. The body of World::run.
void cost_rank(Process& me, const CostJob& job, RankReport& report);

}  // namespace tacit
