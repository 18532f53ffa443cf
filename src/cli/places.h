// SPDX-License-Identifier: MIT
// Cluster files and experiments that come with the program, by name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tacit::cli {

// A kind of file that has names.
struct Shelf {
  std::string kind;    // what messages call one
  std::string folder;  // its folder: in the working directory, beside the program, or where it is installed
};
inline const Shelf kClusters{"cluster file", "clusters"};
inline const Shelf kExperiments{"experiment", "experiments"};

// The file that the user means: a path of one that exists; `demo-8`, which is clusters/demo-8.toml here, or the one that
// came with the program. What looks like a path is returned as it is. Throws InvalidConfig for a name that nothing has.
std::filesystem::path find_file(const Shelf& shelf, const std::filesystem::path& meant);

// Every file that has a name, in the order of names.
std::vector<std::filesystem::path> files_on(const Shelf& shelf);

}  // namespace tacit::cli
