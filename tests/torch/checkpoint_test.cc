// SPDX-License-Identifier: MIT
// A loop of a user's own that saves itself and goes on.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/store.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "support/torch_loop.h"
#include "tacit/torch/model_file.h"

namespace tacit::torch {
namespace {

using test::expect_refusal;
using test::fixed_net;
using test::loss_on;
using test::TempDir;
using test::weights_of;
namespace fs = std::filesystem;
namespace nn = ::torch::nn;
namespace optim = ::torch::optim;

constexpr int kRanks = 3;
constexpr int kSteps = 12;
constexpr int kSaved = 7;

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<::torch::Tensor>&)>;

struct LoopCase {
  std::string strategy = "ssgd";
  std::string compress{};
  MakeOptimizer make = [](const auto& parameters) {
    return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.1).momentum(0.9));
  };
  fs::path save{};
  fs::path load{};
  int ranks = kRanks;
};

// The weights and batch-norm statistics of every rank at the end of a loop that is saved after kSaved steps, goes on from
// what another saved, or neither.
std::vector<std::vector<float>> run(const LoopCase& c) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(c.ranks));
  World::threads(c.ranks).run([&](Process& me) {
    nn::Sequential net = fixed_net(true);
    const auto optimizer = c.make(net->parameters());
    Replicated sync(me, *net, *optimizer, c.strategy, {.compress = c.compress});
    int step = c.load.empty() ? 0 : static_cast<int>(sync.load(c.load.string()));
    EXPECT_EQ(step, c.load.empty() ? 0 : kSaved);
    for (; step < kSteps; ++step) {
      if (!c.save.empty() && step == kSaved) sync.save(c.save.string());
      optimizer->zero_grad();
      const int share = test::kRows / c.ranks;
      loss_on(net, step, me.rank() * share, (me.rank() + 1) * share).backward();
      sync.step();
    }
    sync.finish();
    auto& mine = all[static_cast<std::size_t>(me.rank())];
    mine = weights_of(*net);
    for (const auto& b : net->buffers()) mine.push_back(b.to(::torch::kFloat32).sum().item<float>());
  });
  return all;
}

TEST(ReplicatedCheckpoint, ALoopThatGoesOnEndsWithTheSameBits) {
  const MakeOptimizer adam = [](const auto& p) {
    return std::make_unique<optim::Adam>(p, optim::AdamOptions(0.01));
  };
  const MakeOptimizer sgd = LoopCase{}.make;
  for (const LoopCase& plain :
       {LoopCase{"ssgd", "", sgd}, LoopCase{"ssgd", "", adam}, LoopCase{"ssgd", "topk:ratio=0.2,ef", sgd},
        LoopCase{"local:period=3", "", adam}, LoopCase{"ssd:delay=2", "", sgd},
        LoopCase{"dc_s3gd", "", sgd}}) {
    SCOPED_TRACE(plain.strategy + " " + plain.compress);
    const TempDir folder;
    const auto whole = run(plain);
    LoopCase saving = plain;
    saving.save = folder.path();
    EXPECT_EQ(run(saving), whole);
    LoopCase loading = plain;
    loading.load = folder.path();
    EXPECT_EQ(run(loading), whole);
  }
}

TEST(ReplicatedCheckpoint, WhatCannotBeGoneOnWithIsRefused) {
  const TempDir folder;
  LoopCase c;
  c.save = folder.path();
  run(c);
  c.save.clear();
  c.load = folder.path();
  LoopCase other = c;
  other.ranks = 2;
  expect_refusal([&] { run(other); }, {"3 ranks", "this run has 2", "load_model"});
  other = c;
  other.strategy = "local:period=3";
  expect_refusal([&] { run(other); }, {"local:period=3", "was ssgd"});
  other = c;
  other.load = folder.path() / "none";
  expect_refusal([&] { run(other); }, {"none is missing"});
}

TEST(ModelFile, AModuleIsReadAsItWasWritten) {
  const TempDir folder;
  const fs::path file = folder.path() / "model.safetensors";
  nn::Sequential net = fixed_net(true);
  net->train();
  (void)net->forward(::torch::ones({4, 6}));  // so that its statistics are not those of a new one
  save_model(*net, file);
  nn::Sequential same(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::Linear(8, 3));
  load_model(*same, file);
  EXPECT_EQ(weights_of(*same), weights_of(*net));
  const auto theirs = net->buffers();
  const auto mine = same->buffers();
  for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_TRUE(mine[i].equal(theirs[i])) << i;
  nn::Sequential wider(nn::Linear(6, 9), nn::BatchNorm1d(9), nn::Linear(9, 3));
  expect_refusal([&] { load_model(*wider, file); }, {"0.weight", "8 x 6", "9 x 6"});
  nn::Sequential deeper(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::Linear(8, 3), nn::Linear(3, 3));
  expect_refusal([&] { load_model(*deeper, file); }, {"3.weight"});
  net->to(::torch::kFloat64);
  expect_refusal([&] { save_model(*net, file); }, {"0.weight", "double"});
}

}  // namespace
}  // namespace tacit::torch
