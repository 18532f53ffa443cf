// SPDX-License-Identifier: MIT
// tacit-torch.so: the models of LibTorch.
#include "cli/modules/build_id.h"
#include "cli/modules/module.h"
#include "tacit/torch/models.h"

tacit::cli::ModuleEntry tacit_module() {
  static constexpr tacit::cli::TorchModule kFunctions{&tacit::torch::add_models};
  return {tacit::cli::kBuildId, &kFunctions};
}
