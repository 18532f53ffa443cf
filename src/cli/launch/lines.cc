// SPDX-License-Identifier: MIT
#include "cli/launch/lines.h"

#include <algorithm>
#include <utility>

namespace tacit::cli {

std::string LinePrefixer::take(std::string_view bytes) {
  std::string shown;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    begun_.append(bytes.substr(0, end));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    while (begun_.size() > kLongest) {
      shown += prefix_ + begun_.substr(0, kLongest) + '\n';
      begun_.erase(0, kLongest);
    }
    if (end != std::string_view::npos) shown += prefix_ + std::exchange(begun_, {}) + '\n';
  }
  return shown;
}

std::string LinePrefixer::finish() {
  return begun_.empty() ? std::string() : prefix_ + std::exchange(begun_, {}) + '\n';
}

void LineCutter::append(std::string_view bytes) {
  const std::size_t fits = std::min(bytes.size(), longest_ - begun_.size());
  begun_.append(bytes.substr(0, fits));
  dropped_ += bytes.size() - fits;
}

std::string LineCutter::finish() {
  std::string line = std::exchange(begun_, {});
  if (const std::size_t dropped = std::exchange(dropped_, 0); dropped > 0)
    line += " [" + std::to_string(dropped) + " bytes more, which were cut off]";
  return line;
}

}  // namespace tacit::cli
