// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/training.h"
#include "tacit/world/agreement.h"

namespace tacit::cli {

// What every rank must have been given alike, as its user wrote it. Where to write and what to show is not in it.
// A data set without its path: every machine may have it elsewhere.
std::string data_alike(const std::string& spec);

std::vector<Setting> alike(const TrainSettings& settings);

}  // namespace tacit::cli
