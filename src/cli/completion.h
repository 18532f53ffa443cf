// SPDX-License-Identifier: MIT
// Scripts that make a shell complete this program's command line, and its man page.
#pragma once

#include <string>
#include <vector>

#include "cli/outline.h"

namespace tacit::cli {

std::string bash_completion(const std::vector<CommandOutline>& commands);
std::string zsh_completion(const std::vector<CommandOutline>& commands);
std::string fish_completion(const std::vector<CommandOutline>& commands);

// In roff, of section 1.
std::string man_page(const std::vector<CommandOutline>& commands);

}  // namespace tacit::cli
