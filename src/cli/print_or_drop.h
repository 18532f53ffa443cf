// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace tacit::cli {

// fmt::print without its exception: what cannot be written is dropped. Whoever read it may be gone, and that must not
// end a run. A stream remembers that it failed (std::ferror).
template <class... Values>
void print_or_drop(std::FILE* to, fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::fwrite(line.data(), 1, line.size(), to);
}

}  // namespace tacit::cli
