// SPDX-License-Identifier: MIT
// What a checkpoint says of itself: manifest.json. It is written last, so that a folder that has one is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tacit {

// What the run was told, by the names that its user knows: --lr, 0.02.
using CheckpointSettings = std::vector<std::pair<std::string, std::string>>;

struct Manifest {
  static constexpr const char* kName = "manifest.json";
  static constexpr int kFormat = 1;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;  // CRC-32: of a rank's state without its header, of other files whole
  };

  std::string version{};  // of Tacit, as it writes them
  std::uint64_t job = 0;  // which run it is of
  std::int64_t step = 0;  // steps done
  int ranks = 0;          // of the run; where ranks have disks of their own, `files` has those of this disk
  CheckpointSettings settings{};
  std::vector<File> files{};

  const File* find(const std::string& name) const;
};

std::string to_json_text(const Manifest& manifest);
// Throws InvalidConfig that names the file.
Manifest read_manifest(const std::filesystem::path& file);

// Each setting in which a run differs from that of a checkpoint: "--lr is 0.1 and was 0.02"; empty: none. A setting that
// one of them does not have differs from nothing.
std::vector<std::string> differences(const CheckpointSettings& then, const CheckpointSettings& now);

}  // namespace tacit
