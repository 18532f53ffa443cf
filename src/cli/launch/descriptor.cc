// SPDX-License-Identifier: MIT
#include "cli/launch/descriptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tacit/core/error.h"
#include "world/launcher_note.h"

namespace tacit::cli {
namespace {

// A child's descriptors have fixed small numbers; those they are copied from must not be among them.
constexpr int kFirstNumber = 16;

[[noreturn]] void refuse(const std::string& what) {
  const int error = errno;
  const char* const advice = error == EMFILE || error == ENFILE
                                 ? "; ask for fewer ranks or allow more open files (ulimit -n)"
                                 : "; the system does not allow it";
  throw InvalidConfig("cannot make " + what + ": " + std::strerror(error) + advice);
}

// Takes over a new descriptor and gives it a number that no child uses.
UniqueFd adopt(int fd, const std::string& what) {
  if (fd < 0) refuse(what);
  const UniqueFd low(fd);
  UniqueFd high(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstNumber));
  if (high.get() < 0) refuse(what);
  return high;
}

Listener listen_at(UniqueFd socket, const sockaddr* address, socklen_t length) {
  if (::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    refuse("a socket that listens");
  sockaddr_storage bound{};
  socklen_t bound_length = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &bound_length) != 0)
    refuse("a socket that listens");
  const std::uint16_t port = bound.ss_family == AF_INET6
                                 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                 : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port;
  return {std::move(socket), ntohs(port)};
}

Listener listen_ipv4(std::uint32_t host_order_address) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host_order_address);
  return listen_at(adopt(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "a socket"),
                   reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

void hide_inherited() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) refuse("standard streams");
  std::error_code error;
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > STDERR_FILENO) open.push_back(fd);
  }
  // One of them was the listing's own and is closed by now, which fcntl says and nobody needs to know.
  for (const int fd : open) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void require_descriptors(int count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  errno = EMFILE;
  if (static_cast<rlim_t>(count) > limit.rlim_cur) refuse("the pipes of so many processes");
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse("a pipe");
  UniqueFd write_low(ends[1]);
  UniqueFd read = adopt(ends[0], "a pipe");
  return {std::move(read), adopt(write_low.release(), "a pipe")};
}

UniqueFd open_null() { return adopt(::open("/dev/null", O_RDWR | O_CLOEXEC), "a descriptor of /dev/null"); }

UniqueFd duplicate(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstNumber));
  if (copy.get() < 0) refuse("a copy of a descriptor");
  return copy;
}

UniqueFd make_key_memory(const JobKey& key) {
  UniqueFd memory = adopt(::memfd_create("tacit-key", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memory for the key");
  const std::string text = key.hex();
  if (::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    refuse("memory for the key");
  return memory;
}

UniqueFd make_note_memory(int ranks) {
  UniqueFd memory = adopt(::memfd_create("tacit-notes", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memory for notes");
  if (::ftruncate(memory.get(), off_t{kBytesPerNote} * ranks) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    refuse("memory for notes");
  return memory;
}

Listener listen_on_loopback() { return listen_ipv4(INADDR_LOOPBACK); }

Listener listen_everywhere() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return listen_ipv4(INADDR_ANY);  // a machine without IPv6
  UniqueFd socket = adopt(fd, "a socket");
  const int off = 0;  // IPv4 comes in here too
  if (::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) refuse("a socket");
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  return listen_at(std::move(socket), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace tacit::cli
