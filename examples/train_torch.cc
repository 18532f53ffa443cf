// SPDX-License-Identifier: MIT
// A LibTorch training loop with four workers, made distributed by two lines.
//   build/release/examples/example_train_torch --workers 4
#include <torch/torch.h>

#include <cstdio>

#include "tacit/torch/replicated.h"

int main(int argc, char** argv) {
  tacit::World world = tacit::World::from_environment(argc, argv);
  world.run([](tacit::Process& me) {
    torch::set_num_threads(1);
    torch::nn::Sequential model(torch::nn::Linear(10, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    tacit::torch::Replicated sync(me, *model, optimizer, "local:period=4");  // 1: keeps the replicas together

    double loss_now = 0;
    for (int step = 0; step < 200; ++step) {
      const auto x = torch::randn({64, 10});  // this worker's share of the data
      const auto loss = torch::mse_loss(model->forward(x), x.sum(1, true));
      optimizer.zero_grad();
      loss.backward();
      sync.step();  // 2: in place of optimizer.step()
      loss_now = loss.item<double>();
    }
    sync.finish();
    if (me.rank() == 0) std::printf("%d workers, loss %.4f\n", me.size(), loss_now);
  });
}
