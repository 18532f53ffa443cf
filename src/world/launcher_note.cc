// SPDX-License-Identifier: MIT
#include "world/launcher_note.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <span>

namespace tacit {
namespace {

constexpr int kPortOffset = 2;

void write_at(int descriptor, int offset, std::span<const char> bytes) {
  // The descriptor may be something else by now: only the launcher's memory has these seals.
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  if (descriptor < 0 || ::fcntl(descriptor, F_GET_SEALS) != kSeals) return;
  // Without it the launcher knows less, and ends or waits for ranks that it need not; it says so.
  if (::pwrite(descriptor, bytes.data(), bytes.size(), offset) < 0) return;
}

}  // namespace

void keep_notes(int descriptor) {
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

void leave_note(int descriptor, int about_rank, LauncherNote note) {
  const std::array<char, 1> byte{static_cast<char>(note)};
  write_at(descriptor, kBytesPerNote * about_rank, byte);
}

void note_port(int descriptor, int rank, std::uint16_t port) {
  const std::array<char, 2> bytes{static_cast<char>(port & 0xFFU), static_cast<char>(port >> 8U)};
  write_at(descriptor, kBytesPerNote * rank + kPortOffset, bytes);
}

}  // namespace tacit
