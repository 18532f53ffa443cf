// SPDX-License-Identifier: MIT
#include "checkpoint/checksum.h"

#include <zlib.h>

#include <fstream>
#include <vector>

#include "tacit/core/error.h"

namespace tacit {

std::uint32_t crc_of(ConstBytes data, std::uint32_t before) {
  if (data.empty()) return before;  // zlib begins anew where there is no address
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

std::uint32_t file_crc(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> some(1 << 20);
  std::uint32_t crc = 0;
  while (in) {
    in.read(some.data(), static_cast<std::streamsize>(some.size()));
    crc = crc_of(std::as_bytes(std::span(some).first(static_cast<std::size_t>(in.gcount()))), crc);
  }
  if (!in.eof()) throw Error("cannot read " + file.string() + " again");
  return crc;
}

}  // namespace tacit
