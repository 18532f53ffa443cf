// SPDX-License-Identifier: MIT
// The parts of `tacit list`: names (list.cc) and which compressors go with which strategies (list_legal.cc).
#pragma once

#include <string>
#include <vector>

namespace tacit::cli {

// What `tacit list` can be asked for.
const std::vector<std::string>& kinds_of_names();

// The names of one kind. Throws InvalidConfig where there is no such kind.
std::vector<std::string> names_of_kind(const std::string& kind);

int print_legal(bool json);

}  // namespace tacit::cli
