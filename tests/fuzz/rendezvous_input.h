// SPDX-License-Identifier: MIT
// An input of rendezvous_fuzz: byte 0 says what the bytes after it are.
#pragma once

#include <array>
#include <cstdint>

namespace tacit::fuzz {

enum class Role : std::uint8_t {
  kGuests,        // Stage, then the frames that guests send
  kHost,          // Stage, then the frames with which a host answers
  kPayload,       // a number of a payload, then the payload
  kMeetingFile,   // what is in the file
  kMeetingPoint,  // what the user wrote
};
constexpr std::uint8_t kRoles = 5;

// Three bytes:
//   bits 0 to 1: the rank of the host, the others: how many ranks come after it, modulo 16
//   how many bytes are sent at a time; 0: all
//   bit 0: the other side hangs up at the end; bit 1: a guest that comes again finds its place free
constexpr std::size_t kStageBytes = 3;
constexpr const char* kJob = "job";

}  // namespace tacit::fuzz
