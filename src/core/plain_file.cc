// SPDX-License-Identifier: MIT
#include "core/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr mode_t kForAll = 0666;  // less what umask takes away

int flags_of(PlainFile::How how) {
  // O_NONBLOCK: a pipe in the file's place must not be waited for; on a file it means nothing.
  const int always = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  return how == PlainFile::How::kNew ? always | O_EXCL : always;
}

// Nothing happens where the file system cannot.
void set_direct(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

// How many of the bytes were written; errno says why it is not all of them.
std::size_t put(int fd, std::string_view text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    // No whole blocks, or other ones than this file system has.
    if (count < 0 && errno == EINVAL && (::fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
      set_direct(fd, false);
      continue;
    }
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  return written;
}

}  // namespace

PlainFile::PlainFile(const std::filesystem::path& file, How how)
    : path_(file), fd_(::open(file.c_str(), flags_of(how), kForAll)) {
  if (fd_ < 0 && errno == ELOOP)
    throw Error("cannot write " + path_.string() + ": it is a symbolic link, which is not followed");
  if (fd_ < 0) fail("cannot write ", errno);
  try {
    begin(how);
  } catch (const Error&) {
    ::close(fd_);
    throw;
  }
}

PlainFile::~PlainFile() { ::close(fd_); }

void PlainFile::begin(How how) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode))
    throw Error("cannot write " + path_.string() + ": it is there and no regular file");
  if (how == How::kAnew && ::ftruncate(fd_, 0) != 0) fail("cannot empty ", errno);
  if (how == How::kGoOn) cut_off_last_line();
}

void PlainFile::write(std::string_view text) {
  const off_t before = size();
  const std::size_t written = put(fd_, text);
  if (written == text.size()) return;
  const int error = errno;
  // Half a line would make what comes after it unreadable too.
  if (written > 0 && ::ftruncate(fd_, before) != 0) fail("cannot mend ", errno);
  fail("cannot write on to ", error);
}

void PlainFile::bypass_cache(bool bypass) { set_direct(fd_, bypass); }

void PlainFile::sync() {
  if (::fsync(fd_) != 0) fail("cannot get to the disk what was written to ", errno);
}

off_t PlainFile::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail("cannot look at ", errno);
  return status.st_size;
}

void PlainFile::cut_off_last_line() {
  const off_t all = size();
  off_t kept = all;
  for (char last = 0; kept > 0; --kept)
    if (::pread(fd_, &last, 1, kept - 1) == 1 && last == '\n') break;
  if (kept < all && ::ftruncate(fd_, kept) != 0) fail("cannot mend ", errno);
}

void PlainFile::fail(const char* what, int error) const {
  throw Error(what + path_.string() + " (" + std::strerror(error) + ")");
}

}  // namespace tacit
