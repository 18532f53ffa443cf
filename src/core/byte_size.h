// SPDX-License-Identifier: MIT
// Numbers of bytes as users type them: 4096, 4KiB, 1MiB, 10MB.
#pragma once

#include <cstddef>
#include <string_view>

namespace tacit {

// Throws InvalidConfig, which begins with `what` and says how to write one, for what is no size, for 0, and for more
// than 4 GiB.
std::size_t parse_byte_size(std::string_view what, std::string_view text);

}  // namespace tacit
