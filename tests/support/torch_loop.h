// SPDX-License-Identifier: MIT
// A small LibTorch loop as a user writes it, and what to compare it with.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tacit/torch/replicated.h"

namespace tacit::test {

// Linear, batch norm or tanh, linear: with the same weights wherever it is made.
inline ::torch::nn::Sequential fixed_net(bool norm = false) {
  namespace nn = ::torch::nn;
  nn::Sequential net(nn::Linear(6, 8));
  norm ? net->push_back(nn::BatchNorm1d(8)) : net->push_back(nn::Tanh());
  net->push_back(nn::Linear(8, 3));
  const ::torch::NoGradGuard no_grad;
  for (const auto& p : net->parameters())
    p.copy_(::torch::cos(::torch::arange(p.numel(), ::torch::kFloat32)).view(p.sizes()) * 0.3);
  return net;
}

constexpr int kRows = 24;  // of a global batch

// The loss on rows [from, to) of a step's global batch.
inline ::torch::Tensor loss_on(::torch::nn::Sequential& net, int step, int from, int to) {
  const auto all = ::torch::arange(0, kRows * 6, ::torch::kFloat32).view({kRows, 6});
  const auto x = ::torch::sin(all * (step + 1));
  const auto y = ::torch::arange(kRows).remainder(3);
  return ::torch::cross_entropy_loss(net->forward(x.slice(0, from, to)), y.slice(0, from, to));
}

inline std::vector<float> weights_of(const ::torch::nn::Module& module) {
  std::vector<float> all;
  for (const auto& p : module.parameters()) {
    const auto flat = p.detach().contiguous().view(-1);
    all.insert(all.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return all;
}

// One rank's program, around which a test builds its loop.
struct RankLoop {
  explicit RankLoop(Process& process, const std::string& strategy = "ssgd",
                    const torch::Replicated::Options& options = {}, bool norm = false)
      : me(process),
        net(fixed_net(norm)),
        optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1).momentum(0.9)),
        sync(std::make_unique<torch::Replicated>(me, *net, optimizer, strategy, options)) {}

  // The gradient of this rank's share of a step's batch.
  void backward(int step) {
    const int share = kRows / me.size();
    backward(step, me.rank() * share, (me.rank() + 1) * share);
  }
  void backward(int step, int from, int to) {
    optimizer.zero_grad();
    loss_on(net, step, from, to).backward();
  }
  void steps(int count, int first = 0) {
    for (int step = first; step < first + count; ++step) {
      backward(step);
      sync->step();
    }
  }

  Process& me;
  ::torch::nn::Sequential net;
  ::torch::optim::SGD optimizer;
  std::unique_ptr<torch::Replicated> sync;
};

// Every rank's weights after `body`.
inline std::vector<std::vector<float>> weights_after(int ranks,
                                                     const std::function<void(Process&, RankLoop&)>& body,
                                                     const std::string& strategy = "ssgd",
                                                     const torch::Replicated::Options& options = {},
                                                     bool norm = false) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(ranks));
  World::threads(ranks).run([&](Process& me) {
    RankLoop t(me, strategy, options, norm);
    body(me, t);
    all[static_cast<std::size_t>(me.rank())] = weights_of(*t.net);
  });
  return all;
}

// The same loop on one worker, with LibTorch alone: `step` after the gradient of each whole batch.
inline std::vector<float> alone(int steps, const std::function<void(::torch::optim::SGD&)>& step) {
  ::torch::nn::Sequential net = fixed_net();
  ::torch::optim::SGD optimizer(net->parameters(), ::torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    loss_on(net, i, 0, kRows).backward();
    step(optimizer);
  }
  return weights_of(*net);
}

}  // namespace tacit::test
