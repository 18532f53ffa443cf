// SPDX-License-Identifier: MIT
// The same with LibTorch.
#include <tacit/torch/replicated.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

int main() {
  int steps = 0;
  tacit::World::threads(1).run([&](tacit::Process& me) {
    torch::nn::Linear net(3, 1);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
    tacit::torch::Replicated sync(me, *net, optimizer, "ssgd");
    net->forward(torch::ones({2, 3})).sum().backward();
    sync.step();
    sync.finish();
    ++steps;
  });
  return steps == 1 ? 0 : 1;
}
