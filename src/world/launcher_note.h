// SPDX-License-Identifier: MIT
// What ranks tell tacit launch, in memory that both have (docs/launch.md). Of every rank it holds, one after the other:
// a byte with the note, a byte that is 0, and two bytes with a port, the lower one first.
#pragma once

#include <cstdint>

namespace tacit {

inline constexpr int kBytesPerNote = 4;

// About a rank. A later one replaces an earlier one.
enum class LauncherNote : char {
  kNone = 0,
  kOthersGoOn = 1,  // by itself: if it is lost, the others go on without it
  kGivenUp = 2,     // by another one, which has come to the end of its run without it
};

// Takes the memory over from the launcher: what this process starts itself does not have it.
void keep_notes(int descriptor);

// These do nothing where the descriptor is not, or is no longer, the launcher's memory.
void leave_note(int descriptor, int about_rank, LauncherNote note);
// Where this rank takes in ranks that come back; 0 if it takes in none. Said before kOthersGoOn.
void note_port(int descriptor, int rank, std::uint16_t port);

}  // namespace tacit
