// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/long_file.h"

namespace tacit {

// What was renamed or removed in the folder is so on the disk when this returns. Some file systems cannot sync folders,
// which are then as safe as they get.
void sync_folder(const std::filesystem::path& folder);

// Writes the whole file or nothing: as a draft beside it, FILE.part, which takes its place. When this returns both the
// text and the name are on the disk. Throws Error.
void write_whole_file(const std::filesystem::path& file, const std::string& text);
// The same in pieces, of what may be long.
void write_whole_file(const std::filesystem::path& file, const std::function<void(LongFile&)>& write);

}  // namespace tacit
