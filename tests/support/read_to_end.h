// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace tacit::test {

// All that comes until the other end is closed.
inline std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = read(descriptor, some.data(), some.size())) > 0;)
    text.append(some.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace tacit::test
