// SPDX-License-Identifier: MIT
// tacit-torch.so: the models of LibTorch.
#include "adapters/torch/models.h"
#include "cli/modules/build_id.h"
#include "cli/modules/module.h"

tacit::cli::ModuleEntry tacit_module() {
  static constexpr tacit::cli::TorchModule kFunctions{&tacit::torch::add_models};
  return {tacit::cli::kBuildId, &kFunctions};
}
