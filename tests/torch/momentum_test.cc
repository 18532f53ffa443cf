// SPDX-License-Identifier: MIT
// The place of momentum in a LibTorch loop: that of `tacit train`, for the same words.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "adapters/torch/models.h"
#include "adapters/torch/nets.h"
#include "core/mutex.h"
#include "support/refusal.h"
#include "support/train.h"
#include "tacit/torch/replicated.h"

namespace tacit::torch {
namespace {

using ::torch::optim::OptimizerParamGroup;
using ::torch::optim::SGD;
using ::torch::optim::SGDOptions;

// What the program and the loop below are told alike.
struct Words {
  std::string strategy;
  std::string compress;
  double momentum = 0.9;
  double weight_decay = 0;
  bool nesterov = false;
  friend std::ostream& operator<<(std::ostream& out, const Words& w) {
    return out << w.strategy << ", --compress '" << w.compress << "', momentum " << w.momentum << ", decay "
               << w.weight_decay << (w.nesterov ? ", nesterov" : "");
  }
};

constexpr int kRanks = 3;
constexpr int kSteps = 14;
constexpr int kBatch = 16;
constexpr double kLr = 0.05;

std::vector<float> by_the_program(const Words& words) {
  ModelRegistry models = builtin_models();
  add_models(models, 1);
  test::TrainCase c{.strategy = words.strategy,
                    .ranks = kRanks,
                    .steps = kSteps,
                    .global_batch = kRanks * kBatch,
                    .model = "cnn",
                    .lr = kLr,
                    .compress = words.compress};
  c.optimizer = "sgd:momentum=" + std::to_string(words.momentum) +
                ",weight_decay=" + std::to_string(words.weight_decay) + (words.nesterov ? ",nesterov" : "");
  c.models = &models;
  return test::train(c).params[0];
}

std::shared_ptr<Net> same_cnn_on_every_rank() {
  static Mutex one_at_a_time;  // ranks are threads and share Torch's generator
  const MutexLock lock(one_at_a_time);
  const ModelContext context = test::test_context(1);
  ::torch::manual_seed(context.seed);
  return make_cnn(context);
}

std::vector<float> by_a_loop(const Words& words) {
  std::vector<float> end;
  World::threads(kRanks).run([&](Process& me) {
    const std::shared_ptr<Net> net = same_cnn_on_every_rank();
    SGDOptions options(kLr);
    options.momentum(words.momentum).weight_decay(words.weight_decay).nesterov(words.nesterov);
    SGD optimizer(net->parameters(), options);
    Replicated::Options how;
    how.compress = words.compress;
    Replicated sync(me, *net, optimizer, words.strategy, how);
    const Dataset& data = test::test_data().train;
    Sampler sampler(data.size(), kBatch, kRanks, 1);
    Batch batch;
    for (int step = 0; step < kSteps; ++step) {
      gather(data, sampler.indices(0, step, me.rank()), batch);
      const auto images = ::torch::from_blob(
          batch.images.data(), {kBatch, data.shape.channels, data.shape.height, data.shape.width});
      const auto labels = ::torch::from_blob(batch.labels.data(), {kBatch}, ::torch::kInt64);
      optimizer.zero_grad();
      ::torch::nn::functional::cross_entropy(net->forward(images), labels).backward();
      sync.step();
      const auto& seen = static_cast<SGDOptions&>(optimizer.param_groups()[0].options());
      EXPECT_TRUE(seen == options) << "the optimiser is its user's between steps: " << words;
    }
    sync.finish();
    if (me.rank() != 0) return;
    for (const auto& p : net->parameters()) {
      const auto flat = p.detach().contiguous().view(-1);
      end.insert(end.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    }
  });
  return end;
}

TEST(Replicated, RunsTheAlgorithmThatTheProgramRunsForTheSameWords) {
  const Words all[] = {{"ssgd", "topk:ratio=0.01,ef"},
                       {"ssgd", "topk:ratio=0.05,ef,min=0,via=scatter", 0.8, 0.01},
                       {"ssgd", "onebit:block=64,ef", 0.9, 0, true},
                       {"ssgd", "topk:ratio=0.05,ef,momentum=0", 0.9, 0.01},
                       {"ssgd", "topk:ratio=0.05,ef,momentum=0.9", 0},
                       {"ssgd", "topk:ratio=0.05,dgc", 0},
                       {"ssgd", "", 0.9, 0.01},
                       {"local:period=3", "onebit:block=64,ef", 0.9, 0.01},
                       {"compskip", "", 0.9, 0.01},
                       {"compskip", "topk:ratio=0.1", 0.9, 0, true}};
  for (const Words& words : all) {
    test::expect_near(by_a_loop(words), by_the_program(words), 2e-5F);
    if (HasFailure()) FAIL() << words;
  }
}

// In place of an optimiser of its own.
class Sgd2 final : public SGD {
 public:
  using SGD::SGD;
};

TEST(Replicated, AMomentumThatCannotGoWhereItBelongsIsRefusedByName) {
  using Parameters = std::vector<::torch::Tensor>;
  using Make = std::function<std::unique_ptr<::torch::optim::Optimizer>(const Parameters&)>;
  // Two steps; before the second the optimiser is given another momentum.
  const auto run = [](const std::string& strategy, const std::string& compress, const Make& make) {
    World::threads(1).run([&](Process& me) {
      ::torch::nn::Linear net(4, 4);
      const auto optimizer = make(net->parameters());
      Replicated::Options how;
      how.compress = compress;
      Replicated sync(me, *net, *optimizer, strategy, how);
      for (int step = 0; step < 2; ++step) {
        optimizer->zero_grad();
        net->forward(::torch::ones({2, 4})).sum().backward();
        sync.step();
        if (dynamic_cast<SGD*>(optimizer.get()) != nullptr)
          static_cast<SGDOptions&>(optimizer->param_groups()[0].options()).momentum(0.3);
      }
      sync.finish();
    });
  };
  const auto why = [&](const std::string& strategy, const std::string& compress, const Make& make) {
    return test::refusal([&] { run(strategy, compress, make); });
  };
  const auto expect = [](const std::string& message, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << message;
  };
  const Make sgd = [](auto p) { return std::make_unique<SGD>(p, SGDOptions(0.1).momentum(0.9)); };
  const Make adam = [](auto p) { return std::make_unique<::torch::optim::Adam>(p); };
  const Make derived = [](auto p) { return std::make_unique<Sgd2>(p, SGDOptions(0.1).momentum(0.9)); };
  const Make damped = [](auto p) {
    return std::make_unique<SGD>(p, SGDOptions(0.1).momentum(0.9).dampening(0.5));
  };
  const Make groups = [](auto p) {
    const std::vector<OptimizerParamGroup> all{
        {{p[0]}, std::make_unique<SGDOptions>(SGDOptions(0.1).momentum(0.9))},
        {{p[1]}, std::make_unique<SGDOptions>(SGDOptions(0.1).momentum(0.5))}};
    return std::make_unique<SGD>(all, SGDOptions(0.1));
  };
  expect(why("ssgd", "onebit,ef,momentum=0.9", sgd), {"torch::optim::SGD", "momentum"});
  expect(why("ssgd", "topk,dgc", adam), {"torch::optim::Adam", "momentum"});
  expect(why("ssgd", "onebit,ef", derived), {"Sgd2", "ef,momentum=0"});
  expect(why("compskip", "", derived), {"Sgd2", "nesterov(true)"});
  expect(why("ssgd", "onebit,ef", damped), {"torch::optim::SGD", "dampening"});
  expect(why("compskip", "", damped), {"torch::optim::SGD", "dampening"});
  expect(why("ssgd", "onebit,ef", groups), {"torch::optim::SGD", "groups"});
  expect(why("ssgd", "onebit,ef", sgd), {"torch::optim::SGD", "0.3", "0.9"});  // in its second step
  for (const Make& fine : {adam, groups, derived, damped}) run("ssgd", "onebit,ef,momentum=0", fine);
}

}  // namespace
}  // namespace tacit::torch
