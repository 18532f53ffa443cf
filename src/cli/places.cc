// SPDX-License-Identifier: MIT
#include "cli/places.h"

#include <map>
#include <system_error>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".toml";

// Earlier ones come first. TACIT_SHARE is the way from the program's folder to what is installed with it; a build has the
// same beside its program.
std::vector<fs::path> folders_of(const Shelf& shelf) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {shelf.folder, program / "share/tacit" / shelf.folder, program / TACIT_SHARE / shelf.folder};
}

// By name; of two of one name the earlier.
std::map<std::string, fs::path> all_of(const Shelf& shelf) {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : folders_of(shelf)) {
    std::error_code error;
    for (fs::directory_iterator each(folder, error); !error && each != fs::directory_iterator();
         each.increment(error))
      if (each->path().extension() == kEnding) found.emplace(each->path().stem().string(), each->path());
  }
  return found;
}

}  // namespace

fs::path find_file(const Shelf& shelf, const fs::path& meant) {
  std::error_code error;
  const bool is_path = meant.has_parent_path() || meant.extension() == kEnding;
  if (meant.empty() || is_path || fs::is_regular_file(meant, error)) return meant;
  std::vector<std::string> known;
  for (const auto& [name, file] : all_of(shelf)) {
    if (canonical(name) == canonical(meant.string())) return file;
    known.push_back(name);
  }
  throw InvalidConfig(unknown_name(shelf.kind, meant.string(), known) + "; or give the path of a file");
}

std::vector<fs::path> files_on(const Shelf& shelf) {
  std::vector<fs::path> files;
  for (const auto& [name, file] : all_of(shelf)) files.push_back(file);
  return files;
}

}  // namespace tacit::cli
