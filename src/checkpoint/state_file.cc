// SPDX-License-Identifier: MIT
#include "checkpoint/state_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "checkpoint/checksum.h"
#include "core/files.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic{'T', 'A', 'C', 'I', 'T', 'S', 'T', '1'};

struct Packed {
  std::array<char, 8> magic = kMagic;
  std::uint64_t job = 0;
  std::int64_t step = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  std::uint32_t nothing = 0;
};
static_assert(sizeof(Packed) == 48);

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw InvalidConfig(file.string() + " " + why + "; resume from another checkpoint");
}

StateHeader read_header(const fs::path& file, std::ifstream& in) {
  if (const std::error_code error = reading_error(file))
    throw InvalidConfig(unreadable(file, error) + "; resume from a checkpoint that has it");
  in.open(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, in.tellg()));
  in.seekg(0);
  Packed packed;
  if (!in.read(reinterpret_cast<char*>(&packed), sizeof packed)) refuse(file, "is cut short");
  if (packed.magic != kMagic)
    refuse(file, std::memcmp(packed.magic.data(), kMagic.data(), 7) == 0
                     ? "was written by another version of Tacit, in another format"
                     : "is not a rank's state");
  if (packed.bytes != size - sizeof packed)
    refuse(file, "has " + std::to_string(size) + " bytes and not " +
                     std::to_string(packed.bytes + sizeof packed) + ": it is cut short or damaged");
  return {packed.job,   packed.step, static_cast<int>(packed.rank), static_cast<int>(packed.ranks),
          packed.bytes, packed.crc};
}

}  // namespace

std::string state_file_name(int rank) { return "rank-" + std::to_string(rank) + ".state"; }

void write_state(const fs::path& file, StateHeader header, std::span<const ConstBytes> state) {
  Packed packed;
  packed.job = header.job;
  packed.step = header.step;
  packed.rank = static_cast<std::uint32_t>(header.rank);
  packed.ranks = static_cast<std::uint32_t>(header.ranks);
  for (const ConstBytes each : state) {
    packed.bytes += each.size();
    packed.crc = crc_of(each, packed.crc);
  }
  write_whole_file(file, [&](LongFile& out) {
    out.write(std::as_bytes(std::span(&packed, 1)));
    for (const ConstBytes each : state) out.write(each);
  });
}

StateHeader read_state_header(const fs::path& file) {
  std::ifstream in;
  return read_header(file, in);
}

std::vector<std::byte> read_state(const fs::path& file) {
  std::ifstream in;
  const StateHeader header = read_header(file, in);
  std::vector<std::byte> state(header.bytes);
  if (!in.read(reinterpret_cast<char*>(state.data()), static_cast<std::streamsize>(state.size())))
    refuse(file, "cannot be read to its end");
  if (crc_of(state) != header.crc) refuse(file, "is damaged: its checksum is not that of its content");
  return state;
}

}  // namespace tacit
