// SPDX-License-Identifier: MIT
// Descriptors that a launcher owns. All are closed on exec: a rank gets what it is given and nothing else.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <utility>

#include "tacit/transport/job_key.h"

namespace tacit::cli {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { close(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// The functions below throw InvalidConfig where the system gives no more descriptors.

// Keeps inherited descriptors from child processes: everything above stderr is closed on exec. Where
// stdin, stdout or stderr is closed it becomes /dev/null, so that no other descriptor gets its number.
void hide_inherited();

// Throws at once if this process may not open `count` more descriptors, instead of failing half-way.
void require_descriptors(int count);

Pipe make_pipe();
UniqueFd open_null();
// Duplicates a descriptor; the original stays open.
UniqueFd duplicate(int fd);

// The key as 64 hexadecimal digits in memory that can no longer be changed.
UniqueFd make_key_memory(const JobKey& key);

// Zeros, for notes of so many ranks (world/launcher_note.h). Its size cannot be changed.
UniqueFd make_note_memory(int ranks);

struct Listener {
  UniqueFd socket;
  std::uint16_t port = 0;
};
Listener listen_on_loopback();
Listener listen_everywhere();

}  // namespace tacit::cli
