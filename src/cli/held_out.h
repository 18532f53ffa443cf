// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tacit::cli {

// The data set with training samples in the place of its test set: as many as --holdout says, or as its own holdout=.
// Throws InvalidConfig where both say it, and for a data set that cannot hold out.
std::string held_out(const std::string& data, std::optional<std::int64_t> holdout);

// The data set as a result is measured on it.
std::string without_holdout(const std::string& data);

}  // namespace tacit::cli
