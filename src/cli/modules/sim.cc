// SPDX-License-Identifier: MIT
// tacit-sim.so: simulated worlds, over SimGrid.
#include "cli/modules/build_id.h"
#include "cli/modules/module.h"

tacit::cli::ModuleEntry tacit_module() {
  static constexpr tacit::cli::SimModule kFunctions{&tacit::World::simulated};
  return {tacit::cli::kBuildId, &kFunctions};
}
