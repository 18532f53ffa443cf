// SPDX-License-Identifier: MIT
// What ranks tell tacit launch, in memory that both have: a byte per rank (docs/launch.md).
#pragma once

namespace tacit {

// About a rank. A later one replaces an earlier one.
enum class LauncherNote : char {
  kNone = 0,
  kOthersGoOn = 1,  // by itself: if it is lost, the others go on without it
  kGivenUp = 2,     // by another one, which has come to the end of its run without it
};

// Takes the memory over from the launcher: what this process starts itself does not have it.
void keep_notes(int descriptor);

// Does nothing where the descriptor is not, or is no longer, the launcher's memory.
void leave_note(int descriptor, int about_rank, LauncherNote note);

}  // namespace tacit
