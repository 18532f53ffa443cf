// SPDX-License-Identifier: MIT
// What Replicated costs with one worker over the plain LibTorch loop, in one run:
//
//   build/release/bench/torch_overhead_bench
//
// Two equal networks take turns of some hundred steps each, one with optimizer.step() and one with
// sync.step(); the table gives each one's median turn and the cost in percent. Nobody to talk to: what
// remains is Tacit's own work.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "tacit/torch/replicated.h"

namespace {

constexpr int kTurns = 41;
constexpr int kStepsPerTurn = 40;

torch::nn::Sequential make_net() {
  using namespace torch::nn;
  return Sequential(Conv2d(Conv2dOptions(1, 16, 5).padding(2)), ReLU(), MaxPool2d(2),
                    Conv2d(Conv2dOptions(16, 32, 5).padding(2)), ReLU(), MaxPool2d(2), Flatten(),
                    Linear(32 * 49, 10));
}

struct Loop {
  torch::nn::Sequential net = make_net();
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)};
  std::vector<double> turns;
};

void turn(Loop& loop, const torch::Tensor& x, const torch::Tensor& y, const std::function<void()>& step) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kStepsPerTurn; ++i) {
    loop.optimizer.zero_grad();
    torch::cross_entropy_loss(loop.net->forward(x), y).backward();
    step();
  }
  loop.turns.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const auto x = torch::randn({32, 1, 28, 28});
  const auto y = torch::randint(10, {32});
  tacit::World::threads(1).run([&](tacit::Process& me) {
    torch::set_num_threads(1);
    Loop plain;
    Loop ours;
    tacit::torch::Replicated sync(me, *ours.net, ours.optimizer, "ssgd");
    for (int i = 0; i < kTurns; ++i) {
      turn(plain, x, y, [&] { plain.optimizer.step(); });
      turn(ours, x, y, [&] { sync.step(); });
    }
    sync.finish();
    const double base = median(plain.turns) / kStepsPerTurn;
    const double with = median(ours.turns) / kStepsPerTurn;
    std::printf("plain LibTorch %.3f ms/step   Replicated %.3f ms/step   cost %+.2f %%\n", 1e3 * base,
                1e3 * with, 100 * (with / base - 1));
  });
}
