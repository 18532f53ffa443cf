// SPDX-License-Identifier: MIT
// CRC-32, by which a checkpoint's files are known to be whole.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tacit/core/views.h"

namespace tacit {

// Of `data`; or of what had `before` and `data` behind it.
std::uint32_t crc_of(ConstBytes data, std::uint32_t before = 0);
// Throws Error where the file cannot be read.
std::uint32_t file_crc(const std::filesystem::path& file);

}  // namespace tacit
