// SPDX-License-Identifier: MIT
// One rank's state in a checkpoint: rank-3.state.
//
// Layout  "TACITST1", u64 job, u64 step, u32 rank, u32 ranks, u64 length of the state, u32 its CRC-32, u32 0, the state
//         (core/state.h); in the machine's byte order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/views.h"

namespace tacit {

struct StateHeader {
  std::uint64_t job = 0;  // which run it is of; a resumed one has the same
  std::int64_t step = 0;  // steps done
  int rank = 0;
  int ranks = 0;
  std::uint64_t bytes = 0;  // of the state
  std::uint32_t crc = 0;
};

std::string state_file_name(int rank);

// On the disk when it returns. The state is pieces that follow each other; `header.bytes` and `header.crc` are worked out
// here. Throws Error.
void write_state(const std::filesystem::path& file, StateHeader header, std::span<const ConstBytes> state);

// Throw InvalidConfig that names the file and says what is wrong with it: it is missing, cut short, damaged or not a
// state at all.
StateHeader read_state_header(const std::filesystem::path& file);
std::vector<std::byte> read_state(const std::filesystem::path& file);

}  // namespace tacit
