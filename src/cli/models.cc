// SPDX-License-Identifier: MIT
#include <string>

#include "adapters/torch/model_cards.h"
#include "cli/commands.h"
#include "cli/modules/module.h"

namespace tacit::cli {
namespace {

// A model of LibTorch, which is loaded when one is made.
ModelInfo lazy(const torch::ModelCard& card, int threads_per_rank) {
  const std::string needs =
      has_torch_module() ? "; needs LibTorch" : "; needs LibTorch, which this build lacks";
  return {
      card.name, card.summary + needs, card.paper, card.example,
      [name = std::string(card.name), threads_per_rank](OptionReader& options, const ModelContext& context) {
        ModelRegistry models("model");
        torch_module().add_models(models, threads_per_rank);
        return models.find(name).make(options, context);
      }};
}

}  // namespace

ModelRegistry all_models(int threads_per_rank) {
  ModelRegistry registry = builtin_models();
  for (const torch::ModelCard& card : torch::kModelCards) registry.add(lazy(card, threads_per_rank));
  return registry;
}

}  // namespace tacit::cli
