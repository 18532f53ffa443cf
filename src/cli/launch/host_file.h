// SPDX-License-Identifier: MIT
// The file that says where ranks run: lines of `HOST [slots=N]`, `#` begins a comment.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/launch/ranks.h"

namespace tacit::cli {

// Of one machine.
inline constexpr int kMostSlots = 4096;

struct Host {
  std::string name;
  int slots = 1;
};

// Throws InvalidConfig with file, line, the text there and what is expected.
std::vector<Host> read_host_file(const std::filesystem::path& path);

struct HostShare {
  std::string host;
  Share share;
};
// Ranks in the order of the hosts and their slots: all of them, or the first `ranks` where that is not 0. Hosts without
// a rank are left out. Throws InvalidConfig for more ranks than slots.
std::vector<HostShare> place_ranks(const std::vector<Host>& hosts, int ranks);

}  // namespace tacit::cli
