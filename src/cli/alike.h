// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "cli/training.h"
#include "tacit/world/agreement.h"

namespace tacit::cli {

// What every rank must have been given alike, as its user wrote it. Where to write and what to show is not in it.
std::vector<Setting> alike(const TrainSettings& settings);

}  // namespace tacit::cli
