// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace tacit {

// Writes the whole file or nothing: as a draft beside it, FILE.part, which takes its place. When this returns both the
// text and the name are on the disk. Throws Error.
void write_whole_file(const std::filesystem::path& file, const std::string& text);

}  // namespace tacit
