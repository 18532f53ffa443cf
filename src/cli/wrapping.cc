// SPDX-License-Identifier: MIT
#include "cli/wrapping.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace tacit::cli {

std::size_t page_width() {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 40;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::max<std::size_t>(size.ws_col, kLeast);
}

std::string wrapped(const std::string& first, std::string_view text, std::size_t width) {
  std::istringstream words{std::string(text)};
  const std::string others(first.size(), ' ');
  std::string out;
  std::string line = first;
  bool empty = true;  // no word on the line yet
  for (std::string word; words >> word;) {
    if (!empty && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = others;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return out + line + "\n";
}

}  // namespace tacit::cli
