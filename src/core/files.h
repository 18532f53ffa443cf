// SPDX-License-Identifier: MIT
// Why a file cannot be read, by what the system says: a file that is hidden from the user is not missing.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace tacit {

// What opening it for reading meets; nothing where it can be read. A folder is no file.
std::error_code reading_error(const std::filesystem::path& file);
// The same for a folder.
std::error_code listing_error(const std::filesystem::path& folder);

inline bool is_missing(const std::error_code& error) { return error == std::errc::no_such_file_or_directory; }

// "data/train is missing", "data/train may not be read by you (Permission denied)", "data/train is a folder".
std::string unreadable(const std::filesystem::path& path, const std::error_code& error);

}  // namespace tacit
