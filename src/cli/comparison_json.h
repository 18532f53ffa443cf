// SPDX-License-Identifier: MIT
// A comparison for programs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/comparison.h"
#include "cli/statistics.h"

namespace tacit::cli {

nlohmann::ordered_json to_json(const Comparison& comparison);
// Null where there is none.
nlohmann::ordered_json to_json(const std::optional<PairedDifference>& difference);
nlohmann::ordered_json optional_json(const std::optional<double>& value);

// Throws nlohmann's exception where it is none.
Identity identity_from(const nlohmann::ordered_json& json);

std::string json_text(const nlohmann::ordered_json& json);
// Written aside and renamed, so that there is always a whole one. Throws InvalidConfig.
void write_account(const std::filesystem::path& file, const nlohmann::ordered_json& json);

}  // namespace tacit::cli
