// SPDX-License-Identifier: MIT
#include "cli/commands.h"
#include "tacit/torch/models.h"

namespace tacit::cli {

ModelRegistry all_models(int threads_per_rank) {
  ModelRegistry registry = builtin_models();
  torch::add_models(registry, threads_per_rank);
  return registry;
}

}  // namespace tacit::cli
