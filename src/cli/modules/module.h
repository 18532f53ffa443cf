// SPDX-License-Identifier: MIT
// Parts of the program that are loaded when a run names something of theirs, because the libraries behind them are many
// and slow to load: docs/architecture.md, "Modules".
#pragma once

#include <cstdint>

#include "tacit/train/model.h"
#include "tacit/world/world.h"

namespace tacit::cli {

// What each module has for the program: functions of tacit::torch and of tacit::sim.
struct TorchModule {
  void (*add_models)(ModelRegistry& registry, int threads_per_rank);
};
struct SimModule {
  World (*simulated)(const Cluster& cluster, std::uint64_t seed, WorldOptions options);
};

// Each is loaded by the first call and stays to the end of the program. They throw InvalidConfig, with the package to
// install, where the module or a library of it is missing, and where the module is of another build than the program.
//
// Threads  any.
const TorchModule& torch_module();
const SimModule& sim_module();

// Whether there is a file to load. Loads nothing.
bool has_torch_module();

// What a module exports, under the name tacit_module and without C++ in its signature, so that a module of another
// build can be told before anything else of it is called.
struct ModuleEntry {
  const char* build;
  const void* functions;  // a TorchModule or a SimModule
};

}  // namespace tacit::cli

extern "C" tacit::cli::ModuleEntry tacit_module();
