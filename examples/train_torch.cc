// SPDX-License-Identifier: MIT
// A LibTorch training loop with four workers, made distributed by two lines.
//   build/release/examples/example_train_torch --workers 4
#include <torch/torch.h>

#include <cstdio>

#include "tacit/main.h"
#include "tacit/torch/rank_sampler.h"
#include "tacit/torch/replicated.h"

namespace {

// The same on every rank, which sees its share.
auto make_data() {
  auto random = at::make_generator<at::CPUGeneratorImpl>(1);
  const auto x = torch::randn({4096, 10}, random);
  return torch::data::datasets::TensorDataset(x).map(
      torch::data::transforms::Stack<torch::data::TensorExample>());
}

}  // namespace

int main(int argc, char** argv) {
  return tacit::main(argc, argv, [](tacit::Process& me) {
    torch::set_num_threads(1);
    torch::manual_seed(me.seed(1));  // for dropout and augmentation, which differ between ranks
    auto data = make_data();
    auto loader = torch::data::make_data_loader(data, tacit::torch::RankSampler(me, *data.size()), 64);
    torch::nn::Sequential model(torch::nn::Linear(10, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    tacit::torch::Replicated sync(me, *model, optimizer, "local:period=4");  // 1: keeps the replicas together

    double loss_now = 0;
    for (int epoch = 0; epoch < 12; ++epoch) {
      for (auto& batch : *loader) {
        const auto loss = torch::mse_loss(model->forward(batch.data), batch.data.sum(1, true));
        optimizer.zero_grad();
        loss.backward();
        sync.step();  // 2: in place of optimizer.step()
        loss_now = loss.item<double>();
      }
    }
    sync.finish();
    if (me.rank() == 0) std::printf("%d workers, loss %.4f\n", me.size(), loss_now);
  });
}
