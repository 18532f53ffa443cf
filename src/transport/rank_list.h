// SPDX-License-Identifier: MIT
// Ranks as messages name them.
#pragma once

#include <string>
#include <vector>

namespace tacit {

// "1, 3 and 7"; of many, the first.
std::string list_ranks(const std::vector<int>& ranks);
// "rank 1" or "ranks 1, 3 and 7"
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace tacit
