// SPDX-License-Identifier: MIT
#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tacit {
namespace {

std::error_code opening_error(const std::filesystem::path& path, bool wants_folder) {
  // Without waiting for the other end of a pipe.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {errno, std::generic_category()};
  struct stat about {};
  const bool is_folder = ::fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
  ::close(fd);
  if (is_folder == wants_folder) return {};
  return {wants_folder ? ENOTDIR : EISDIR, std::generic_category()};
}

}  // namespace

std::error_code reading_error(const std::filesystem::path& file) { return opening_error(file, false); }

std::error_code listing_error(const std::filesystem::path& folder) { return opening_error(folder, true); }

std::string unreadable(const std::filesystem::path& path, const std::error_code& error) {
  if (is_missing(error)) return path.string() + " is missing";
  if (error == std::errc::is_a_directory) return path.string() + " is a folder";
  if (error == std::errc::not_a_directory) return path.string() + " is not a folder";
  if (error == std::errc::permission_denied)
    return path.string() + " may not be read by you (" + error.message() + ")";
  return path.string() + " cannot be read (" + error.message() + ")";
}

}  // namespace tacit
