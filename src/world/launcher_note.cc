// SPDX-License-Identifier: MIT
#include "world/launcher_note.h"

#include <fcntl.h>
#include <unistd.h>

namespace tacit {

void keep_notes(int descriptor) {
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

void leave_note(int descriptor, int about_rank, LauncherNote note) {
  // The descriptor may be something else by now: only the launcher's memory has these seals.
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  if (descriptor < 0 || ::fcntl(descriptor, F_GET_SEALS) != kSeals) return;
  const char byte = static_cast<char>(note);
  // Without it the launcher knows less, and ends or waits for ranks that it need not; it says so.
  if (::pwrite(descriptor, &byte, 1, about_rank) != 1) return;
}

}  // namespace tacit
