// SPDX-License-Identifier: MIT
#include "tacit/core/error.h"

#include <string_view>

namespace tacit {

void fail_check(const char* file, int line, const char* condition, const std::string& what) {
  std::string_view path(file);
  if (const auto cut = path.rfind('/'); cut != std::string_view::npos) path.remove_prefix(cut + 1);
  throw Bug(std::string(path) + ":" + std::to_string(line) + ": " + what + " (expected " + condition +
            "); this is a defect in Tacit, please report it");
}

}  // namespace tacit
