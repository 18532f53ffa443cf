// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "adapters/torch/flat_module.h"
#include "adapters/torch/models.h"
#include "adapters/torch/nets.h"
#include "core/hash.h"
#include "core/mutex.h"
#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/torch/replicated.h"
#include "train/optimizer.h"

namespace tacit::torch {
namespace {

namespace nn = ::torch::nn;

nn::Sequential small_net(std::int64_t seed = 1) {
  static Mutex one_at_a_time;  // ranks are threads and share Torch's generator
  const MutexLock lock(one_at_a_time);
  ::torch::manual_seed(static_cast<std::uint64_t>(seed));
  return nn::Sequential(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 3));
}

// The rank's rows of a global batch that is the same for every number of ranks.
struct Data {
  ::torch::Tensor x;
  ::torch::Tensor y;
};
Data batch(int step, int rank, int ranks) {
  const auto all = ::torch::arange(0, 24 * 6, ::torch::kFloat32).view({24, 6});
  const auto x = ::torch::sin(all * (step + 1));
  const auto y = ::torch::arange(24).remainder(3);
  return {x.chunk(ranks)[static_cast<std::size_t>(rank)], y.chunk(ranks)[static_cast<std::size_t>(rank)]};
}

std::vector<float> weights(nn::Module& m) {
  std::vector<float> all;
  for (const auto& p : m.parameters()) {
    const auto flat = p.detach().contiguous().view(-1);
    all.insert(all.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return all;
}

TEST(FlatModule, ParametersAndGradientsAreViewsOfOneBuffer) {
  nn::Sequential net = small_net();
  const auto before = weights(*net);
  FlatModule flat(*net);
  EXPECT_EQ(std::vector<float>(flat.params().host().begin(), flat.params().host().end()), before);
  std::size_t i = 0;
  for (const auto& p : net->parameters()) {
    EXPECT_EQ(p.data_ptr<float>(), flat.params().host().data() + flat.tensors()[i].offset);
    EXPECT_EQ(p.grad().data_ptr<float>(), flat.gradient().host().data() + flat.tensors()[i].offset);
    ++i;
  }
  const auto [x, y] = batch(0, 0, 1);
  ::torch::cross_entropy_loss(net->forward(x), y).backward();
  i = 0;
  for (const auto& p : net->parameters())  // autograd added in place
    EXPECT_EQ(p.grad().data_ptr<float>(), flat.gradient().host().data() + flat.tensors()[i++].offset);
  flat.params().host()[0] = 42;
  EXPECT_EQ(net->parameters()[0].view(-1)[0].item<float>(), 42);
}

TEST(FlatModule, GradientsThatWereDroppedComeBack) {
  nn::Sequential net = small_net();
  nn::Sequential same = small_net();
  FlatModule flat(*net);
  const auto [x, y] = batch(0, 0, 1);
  for (const auto& p : net->parameters()) p.mutable_grad() = ::torch::Tensor();  // zero_grad(set_to_none)
  ::torch::cross_entropy_loss(net->forward(x), y).backward();
  ::torch::cross_entropy_loss(same->forward(x), y).backward();
  flat.collect_gradients();
  std::size_t i = 0;
  for (const auto& p : same->parameters()) {
    EXPECT_EQ(net->parameters()[i].grad().data_ptr<float>(),
              flat.gradient().host().data() + flat.tensors()[i].offset);
    EXPECT_TRUE(::torch::equal(net->parameters()[i++].grad(), p.grad()));
  }
}

TEST(FlatModule, AParameterOfAnotherTypeIsRefusedByName) {
  nn::Linear net(2, 2);
  net->to(::torch::kFloat64);
  try {
    FlatModule flat(*net);
    FAIL() << "accepted";
  } catch (const InvalidConfig& error) {
    EXPECT_NE(std::string(error.what()).find("'weight'"), std::string::npos) << error.what();
  }
}

TEST(Replicated, FrozenParametersAndBuffersStartAsRankZeros) {
  std::vector<std::vector<float>> frozen(3);
  World::threads(3).run([&](Process& me) {
    nn::Sequential net = small_net(me.rank());
    net->parameters()[0].set_requires_grad(false);
    net[1]->as<nn::BatchNorm1d>()->running_mean.fill_(me.rank() + 1);
    ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1));
    Replicated sync(me, *net, optimizer, "ssgd");
    auto& mine = frozen[static_cast<std::size_t>(me.rank())];
    mine = weights(*net);
    mine.push_back(net[1]->as<nn::BatchNorm1d>()->running_mean[0].item<float>());
    sync.finish();
  });
  EXPECT_EQ(frozen[1], frozen[0]);
  EXPECT_EQ(frozen[2], frozen[0]);
  EXPECT_EQ(frozen[0].back(), 1.0F);
}

TEST(FlatModule, FrozenParametersAreLeftAlone) {
  nn::Sequential net = small_net();
  net->parameters()[0].set_requires_grad(false);
  FlatModule flat(*net);
  EXPECT_EQ(flat.tensors().size(), net->parameters().size() - 1);
}

using MakeOptimizer = std::function<std::unique_ptr<::torch::optim::Optimizer>(std::vector<::torch::Tensor>)>;

// Trains with Replicated; returns every rank's weights.
std::vector<std::vector<float>> train(int ranks, const std::string& strategy, const MakeOptimizer& make,
                                      bool norm) {
  std::vector<std::vector<float>> result(static_cast<std::size_t>(ranks));
  World::threads(ranks).run([&](Process& me) {
    nn::Sequential net = norm ? small_net(me.rank()) : [&] {
      nn::Sequential whole =
          small_net(me.rank());  // other weights on every rank: start() must make them equal
      return nn::Sequential(nn::Linear(whole[0]->as<nn::Linear>()->options), nn::Tanh(), nn::Linear(8, 3));
    }();
    if (me.rank() == 0) {
      const ::torch::NoGradGuard no_grad;
      for (const auto& p : net->parameters())
        p.copy_(::torch::cos(::torch::arange(p.numel())).view(p.sizes()) * 0.3);
    }
    const auto optimizer = make(net->parameters());
    Replicated sync(me, *net, *optimizer, strategy);
    for (int step = 0; step < 12; ++step) {
      optimizer->zero_grad();
      const auto [x, y] = batch(step, me.rank(), me.size());
      ::torch::cross_entropy_loss(net->forward(x), y).backward();
      sync.step();
    }
    sync.finish();
    result[static_cast<std::size_t>(me.rank())] = weights(*net);
  });
  return result;
}

MakeOptimizer sgd() {
  return [](std::vector<::torch::Tensor> p) {
    return std::make_unique<::torch::optim::SGD>(std::move(p), ::torch::optim::SGDOptions(0.1).momentum(0.9));
  };
}
MakeOptimizer adam() {
  return [](std::vector<::torch::Tensor> p) {
    return std::make_unique<::torch::optim::Adam>(std::move(p), ::torch::optim::AdamOptions(0.01));
  };
}

TEST(Replicated, WithAnyOptimizerIsOneWorkerOnTheGlobalBatch) {
  for (const auto& make : {sgd(), adam()}) {
    const auto one = train(1, "ssgd", make, false);
    for (const int ranks : {2, 4}) {
      const auto many = train(ranks, "ssgd", make, false);
      for (const auto& w : many) EXPECT_EQ(w, many[0]);
      for (std::size_t i = 0; i < one[0].size(); ++i) ASSERT_NEAR(many[0][i], one[0][i], 1e-4F);
    }
  }
}

// The servers of a strategy run what the user gave the worker, with its settings.
TEST(Replicated, ServersRunTheWorkersOptimizer) {
  using namespace ::torch::optim;
  const std::vector<MakeOptimizer> makers{
      [](auto p) {
        return std::make_unique<SGD>(std::move(p),
                                     SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
      },
      [](auto p) {
        return std::make_unique<Adam>(std::move(p), AdamOptions(0.01).betas({0.8, 0.95}).eps(1e-6));
      },
      [](auto p) { return std::make_unique<AdamW>(std::move(p), AdamWOptions(0.01).weight_decay(0.3)); }};
  for (const MakeOptimizer& make : makers) {
    const auto here = train(2, "ssgd:servers=2", make, false);
    const auto there = train(2, "ssd:warmup=1000000", make, false);
    for (std::size_t i = 0; i < here[0].size(); ++i) ASSERT_NEAR(there[0][i], here[0][i], 1e-5F);
    EXPECT_EQ(there[1], there[0]);
  }
}

TEST(Replicated, AnOptimizerThatServersCannotRunIsRefusedByName) {
  using namespace ::torch::optim;
  const auto why = [](const MakeOptimizer& make) {
    return test::refusal([&] { train(2, "ssd", make, false); });
  };
  EXPECT_NE(why([](auto p) { return std::make_unique<RMSprop>(std::move(p)); }).find("torch::optim::RMSprop"),
            std::string::npos);
  EXPECT_NE(why([](auto p) { return std::make_unique<LBFGS>(std::move(p)); }).find("torch::optim::LBFGS"),
            std::string::npos);
  EXPECT_NE(why([](auto p) {
              return std::make_unique<SGD>(std::move(p), SGDOptions(0.1).momentum(0.9).dampening(0.5));
            }).find("dampening"),
            std::string::npos);
  EXPECT_NE(why([](auto p) {
              return std::make_unique<Adam>(std::move(p), AdamOptions().amsgrad(true));
            }).find("amsgrad"),
            std::string::npos);
  EXPECT_NE(why([](const std::vector<::torch::Tensor>& p) {
              const std::vector<OptimizerParamGroup> groups{
                  {{p[0]}, std::make_unique<SGDOptions>(0.1)},
                  {{p.begin() + 1, p.end()}, std::make_unique<SGDOptions>(0.2)}};
              return std::make_unique<SGD>(groups, SGDOptions(0.1));
            }).find("groups"),
            std::string::npos);
}

TEST(Replicated, EveryStrategyEndsWithEqualWeights) {
  for (const std::string& strategy : builtin_strategies().names()) {
    const auto result = train(4, strategy, sgd(), true);
    for (const auto& w : result) EXPECT_EQ(w, result[0]) << strategy;
  }
}

TEST(Replicated, EvaluatesOnTheMeanAndGoesBackToTraining) {
  World::threads(2).run([](Process& me) {
    nn::Sequential net = small_net();
    ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1));
    Replicated sync(me, *net, optimizer, "local:period=100");
    const auto [x, y] = batch(0, me.rank(), 2);
    ::torch::cross_entropy_loss(net->forward(x), y).backward();
    sync.step();
    const auto mine = weights(*net);
    const auto statistics = net[1]->as<nn::BatchNorm1d>()->running_mean.clone();
    std::uint64_t hash = 0;
    {
      const auto point = sync.evaluation();
      auto all = weights(*net);
      const auto& mean = net[1]->as<nn::BatchNorm1d>()->running_mean;
      EXPECT_FALSE(::torch::equal(mean, statistics));
      all.insert(all.end(), mean.data_ptr<float>(), mean.data_ptr<float>() + mean.numel());
      EXPECT_NE(all, mine);
      hash = hash_bytes(bytes_of(ConstFloatView(all)));
    }
    std::vector<float> halves{static_cast<float>(hash % 65536), static_cast<float>(hash / 65536 % 65536)};
    const auto own = halves;
    me.comm().mean(halves);
    EXPECT_EQ(halves, own);  // both ranks evaluated the same point
    EXPECT_EQ(weights(*net), mine);
    EXPECT_TRUE(::torch::equal(net[1]->as<nn::BatchNorm1d>()->running_mean, statistics));
    sync.finish();
  });
}

TEST(FlatOptimizers, EqualLibTorchsOwn) {
  struct Pair {
    const char* ours;
    MakeOptimizer theirs;
  };
  using namespace ::torch::optim;
  const std::vector<Pair> pairs{
      {"sgd:weight_decay=0.01",
       [](auto p) { return std::make_unique<SGD>(std::move(p), SGDOptions(0.1).weight_decay(0.01)); }},
      {"sgd:momentum=0.9,weight_decay=0.01",
       [](auto p) {
         return std::make_unique<SGD>(std::move(p), SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
       }},
      {"sgd:momentum=0.9,nesterov",
       [](auto p) {
         return std::make_unique<SGD>(std::move(p), SGDOptions(0.1).momentum(0.9).nesterov(true));
       }},
      {"adam:weight_decay=0.01",
       [](auto p) { return std::make_unique<Adam>(std::move(p), AdamOptions(0.1).weight_decay(0.01)); }},
      {"adamw:weight_decay=0.05",
       [](auto p) { return std::make_unique<AdamW>(std::move(p), AdamWOptions(0.1).weight_decay(0.05)); }},
  };
  for (const Pair& pair : pairs) {
    const auto start = ::torch::sin(::torch::arange(100, ::torch::kFloat32));
    auto theirs = start.clone().set_requires_grad(true);
    const auto start_data = start.contiguous();
    std::vector<float> ours(start_data.data_ptr<float>(), start_data.data_ptr<float>() + 100);
    const auto optimizer = pair.theirs({theirs});
    const auto flat = make_optimizer(pair.ours);
    for (int step = 0; step < 20; ++step) {
      const auto g = ::torch::cos(::torch::arange(100, ::torch::kFloat32) * (step + 1)).contiguous();
      theirs.mutable_grad() = g;
      optimizer->step();
      flat->step(std::span(g.data_ptr<float>(), 100), 0.1F, ours);
    }
    for (std::size_t i = 0; i < 100; ++i)
      ASSERT_NEAR(ours[i], theirs.view(-1)[static_cast<std::int64_t>(i)].item<float>(), 2e-5F) << pair.ours;
  }
}

std::int64_t parameters_of(Net& net) {
  std::int64_t count = 0;
  for (const auto& p : net.parameters()) count += p.numel();
  return count;
}

TEST(Nets, TurnImagesOfOneAndThreeChannelsIntoScores) {
  for (const ImageShape& shape : {ImageShape{1, 28, 28}, ImageShape{3, 32, 32}}) {
    const ModelContext context{shape, 10, 1};
    std::vector<std::shared_ptr<Net>> nets{make_cnn(context)};
    for (const Norm norm : {Norm::kBatch, Norm::kGroup}) {
      nets.push_back(make_small_resnet(context, 1, norm));
      nets.push_back(make_resnet(context, 18, norm));
      nets.push_back(make_resnet(context, 50, norm));
    }
    for (const auto& net : nets) {
      const auto scores = net->forward(::torch::zeros({2, shape.channels, shape.height, shape.width}));
      EXPECT_EQ(scores.sizes(), (std::vector<std::int64_t>{2, 10}));
    }
  }
}

TEST(Nets, HaveThePublishedNumberOfParameters) {
  const ModelContext cifar{{3, 32, 32}, 10, 1};
  EXPECT_NEAR(static_cast<double>(parameters_of(*make_small_resnet(cifar, 3, Norm::kBatch))), 0.27e6,
              5e3);  // ResNet-20
  EXPECT_NEAR(static_cast<double>(parameters_of(*make_small_resnet(cifar, 9, Norm::kBatch))), 0.85e6,
              8e3);  // ResNet-56
  const ModelContext imagenet{{3, 224, 224}, 1000, 1};
  for (const Norm norm : {Norm::kBatch, Norm::kGroup}) {
    EXPECT_EQ(parameters_of(*make_resnet(imagenet, 18, norm)), 11'689'512);
    EXPECT_EQ(parameters_of(*make_resnet(imagenet, 50, norm)), 25'557'032);
  }
}

TEST(TorchModels, StartEqualOnEveryRankAndTrain) {
  ModelRegistry registry = builtin_models();
  add_models(registry, 1);
  const DataPair data = load_dataset("synthetic:samples=64,test=64,size=8,noise=0.1");
  std::vector<std::uint64_t> hashes(4);
  World::threads(4).run([&](Process& me) {
    const auto model = make_model(registry, "resnet8:norm=group", {data.train.shape, 10, 5});
    hashes[static_cast<std::size_t>(me.rank())] = hash_bytes(bytes_of(ConstFloatView(model->params())));
  });
  for (const auto h : hashes) EXPECT_EQ(h, hashes[0]);

  const auto model = make_model(registry, "cnn", {data.train.shape, 10, 5});
  std::vector<std::uint32_t> all(64);
  std::iota(all.begin(), all.end(), 0U);
  Batch whole;
  gather(data.train, all, whole);
  const auto optimizer = make_optimizer("sgd:momentum=0.9");
  const double before = model->compute_gradient(whole);
  for (int i = 0; i < 30; ++i) {
    optimizer->step(model->gradient(), 0.02F, model->params());
    model->compute_gradient(whole);
  }
  EXPECT_LT(model->compute_gradient(whole), before / 2);
  const Score score = model->evaluate(whole);
  EXPECT_EQ(score.samples, 64);
  EXPECT_NEAR(score.loss / 64, model->compute_gradient(whole), 1e-4);

  int parts = 0;
  const Model::Ready count = [&](Slice) { ++parts; };
  model->compute_gradient(whole, count);
  EXPECT_GT(parts, 1);
  parts = 0;
  kernels::fill(std::numeric_limits<float>::quiet_NaN(), model->params());
  EXPECT_TRUE(std::isnan(model->compute_gradient(whole, count)));
  EXPECT_EQ(parts, 0);
}

TEST(TorchModels, RefuseAnUnknownNormAndTooSmallImages) {
  ModelRegistry registry = builtin_models();
  add_models(registry, 1);
  EXPECT_THROW(make_model(registry, "resnet8:norm=grup", {{1, 28, 28}, 10, 1}), InvalidConfig);
  EXPECT_THROW(make_model(registry, "cnn", {{1, 2, 2}, 10, 1}), InvalidConfig);
}

}  // namespace
}  // namespace tacit::torch
