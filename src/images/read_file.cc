// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "images/picture.h"

namespace tacit {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;

[[noreturn]] void refuse(int code) {
  throw BadImage("it cannot be read: " + std::generic_category().message(code));
}

// An open file.
class Reading {
 public:
  // Without waiting for the other end of a pipe.
  explicit Reading(const std::filesystem::path& file)
      : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (fd_ < 0) refuse(errno);
  }
  ~Reading() { ::close(fd_); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  std::size_t size() const {
    struct stat about {};
    if (::fstat(fd_, &about) != 0) refuse(errno);
    if (!S_ISREG(about.st_mode)) throw BadImage("it is not a regular file");
    if (about.st_size == 0) throw BadImage("it is empty");
    if (about.st_size > kMostBytes)
      throw BadImage("it has " + std::to_string(about.st_size) + " bytes, which is more than " +
                     std::to_string(kMostBytes));
    return static_cast<std::size_t>(about.st_size);
  }

  // Returns how far the file went.
  std::size_t read(Bytes to) const {
    std::size_t have = 0;
    while (have < to.size()) {
      const ssize_t got = ::read(fd_, to.data() + have, to.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }

 private:
  const int fd_;
};

}  // namespace

std::vector<std::byte> read_image_file(const std::filesystem::path& file) {
  const Reading reading(file);
  std::vector<std::byte> bytes(reading.size());
  bytes.resize(reading.read(bytes));
  return bytes;
}

}  // namespace tacit
