// SPDX-License-Identifier: MIT
// Which checkpoint a run goes on from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "tacit/world/world.h"

namespace tacit {

struct FoundCheckpoint {
  std::filesystem::path path;
  Manifest manifest;
};

// The newest in this folder, or the one that the folder is. Throws InvalidConfig.
FoundCheckpoint newest_checkpoint(const std::filesystem::path& folder);

// The newest that all ranks have, each on its own disk, where one of them may have been killed before it had the last.
// Throws InvalidConfig, also where ranks have those of different runs. Collective.
FoundCheckpoint common_checkpoint(Process& me, const std::filesystem::path& folder);

// This rank's state in it, which is found to be of the same run and whole. Throws InvalidConfig.
std::vector<std::byte> state_in(const FoundCheckpoint& checkpoint, int rank);

}  // namespace tacit
