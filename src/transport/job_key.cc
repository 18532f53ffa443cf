// SPDX-License-Identifier: MIT
#include "tacit/transport/job_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tacit/core/error.h"
#include "transport/close_on_exec.h"

namespace tacit {
namespace {

constexpr const char* kShape = "a job key is 64 hexadecimal digits; make one with: openssl rand -hex 32";

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// From the start, whatever was read before, and little more than a key.
std::string read_start(int descriptor) {
  std::array<char, 4 * JobKey::kBytes> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  if (count < 0) throw InvalidConfig("cannot read the job key: " + std::string(std::strerror(errno)));
  return {text.data(), static_cast<std::size_t>(count)};
}

}  // namespace

JobKey JobKey::random() {
  JobKey key;
  TACIT_CHECK(::getrandom(key.bytes_.data(), kBytes, 0) == static_cast<ssize_t>(kBytes),
              "the system gave no random bytes");
  return key;
}

JobKey JobKey::from_hex(const std::string& text) {
  std::size_t end = text.size();
  while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == ' ')) --end;
  if (end != 2 * kBytes)
    throw InvalidConfig("there are " + std::to_string(end) + " characters where the job key should be; " +
                        kShape);
  JobKey key;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0)
      throw InvalidConfig(std::string("the job key has other characters than digits; ") + kShape);
    key.bytes_[i] = static_cast<std::byte>(high * 16 + low);
  }
  return key;
}

JobKey JobKey::read_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw InvalidConfig("cannot open the key file " + path.string() + ": " + std::strerror(errno));
  try {
    struct stat info {};
    if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
      throw InvalidConfig("the key file " + path.string() + " is not a file");
    if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
      throw InvalidConfig("the key file " + path.string() +
                          " may be read by others; make it yours alone: chmod 600 " + path.string());
    const JobKey key = from_hex(read_start(file));
    ::close(file);
    return key;
  } catch (...) {
    ::close(file);
    throw;
  }
}

JobKey JobKey::read_descriptor(int descriptor) {
  close_on_exec(descriptor);
  return from_hex(read_start(descriptor));
}

std::string JobKey::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes_) {
    text += kDigits[std::to_integer<int>(b) >> 4];
    text += kDigits[std::to_integer<int>(b) & 15];
  }
  return text;
}

}  // namespace tacit
