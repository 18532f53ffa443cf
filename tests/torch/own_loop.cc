// SPDX-License-Identifier: MIT
// A user's LibTorch loop: own_loop STRATEGY STEPS. Prints the hash of its weights at the end.
#include <torch/torch.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "core/hash.h"
#include "tacit/main.h"
#include "tacit/torch/rank_sampler.h"
#include "tacit/torch/replicated.h"
#include "tacit/torch/world_for.h"

namespace {

std::string hash_of(const torch::nn::Module& model) {
  std::uint64_t hash = tacit::hash_bytes({});
  for (const auto& p : model.parameters()) {
    const auto flat = p.detach().contiguous();
    hash = tacit::hash_bytes(
        std::as_bytes(std::span(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()))), hash);
  }
  return tacit::hash_text(hash);
}

void train(tacit::Process& me, const std::string& strategy, long steps) {
  torch::set_num_threads(1);
  torch::manual_seed(me.seed(1));
  torch::nn::Sequential model(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01));
  tacit::torch::Replicated sync(me, *model, optimizer, strategy);
  for (long step = 0; step < steps; ++step) {
    const auto x = torch::randn({8, 4});
    optimizer.zero_grad();
    torch::mse_loss(model->forward(x), x.sum(1, true)).backward();
    sync.step();
    if (step == 20) std::ofstream("trains." + std::to_string(me.rank())) << "yes\n";
  }
  {
    const auto point = sync.evaluation();
    if (sync.sum(1) > me.size()) std::printf("more ranks than there are\n");
  }
  sync.finish();
  std::printf("weights %s\n", hash_of(*model).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string strategy = argc > 1 ? argv[1] : "ssgd";
  return tacit::main(argc, argv, tacit::world_for(strategy),
                     [&](tacit::Process& me) { train(me, strategy, std::stol(argv[2])); });
}
