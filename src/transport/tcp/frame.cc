// SPDX-License-Identifier: MIT
#include "transport/tcp/frame.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tacit/transport/tag.h"
#include "transport/tcp/bytes.h"

namespace tacit {
namespace {

constexpr std::array<char, 4> kMagic{'T', 'C', 'I', 'T'};

// Layout: magic 4, version 1, type 1, zero 2, tag 8, length 8.
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kTypeAt = 5;
constexpr std::size_t kZeroAt = 6;
constexpr std::size_t kTagAt = 8;
constexpr std::size_t kLengthAt = 16;

[[noreturn]] void refuse_magic(ConstBytes bytes) {
  std::array<char, 4> found{};
  std::memcpy(found.data(), bytes.data(), found.size());
  const std::string text(found.data(), found.size());
  for (const char* verb : {"GET ", "POST", "HEAD", "PUT ", "HTTP"})
    if (text == verb) throw BadFrame("the other side speaks HTTP; this port is for ranks of a job");
  if (found[0] == 0x16 && found[1] == 0x03)
    throw BadFrame("the other side speaks TLS and this one has no job key; give both the same key");
  std::string hex;
  for (const char c : found) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += std::string(" ") + kDigits[static_cast<unsigned char>(c) >> 4] + kDigits[c & 15];
  }
  throw BadFrame("a frame begins with TCIT and not with the bytes" + hex);
}

bool may_have(FrameType type, std::uint64_t tag) {
  switch (type) {
    case FrameType::kData:
    case FrameType::kOffer:
      return Tag::from_bits(tag).has_value();
    case FrameType::kHello:
    case FrameType::kWelcome:
    case FrameType::kAccusation:
    case FrameType::kGivenUp:
      return tag <= std::numeric_limits<std::uint32_t>::max();  // an entry
    default:
      return tag == 0;
  }
}

}  // namespace

FrameHeaderBytes encode(const FrameHeader& header) {
  FrameHeaderBytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes[kVersionAt] = static_cast<std::byte>(kWireVersion);
  bytes[kTypeAt] = static_cast<std::byte>(header.type);
  put_bytes(header.tag, &bytes[kTagAt]);
  put_bytes(header.length, &bytes[kLengthAt]);
  return bytes;
}

FrameHeader decode_frame(ConstBytes bytes) {
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) refuse_magic(bytes);
  const auto version = std::to_integer<int>(bytes[kVersionAt]);
  if (version != kWireVersion)
    throw BadFrame("the other side speaks version " + std::to_string(version) +
                   " of the format and this one " + std::to_string(kWireVersion) +
                   "; run the same Tacit everywhere");
  const auto type = std::to_integer<std::uint8_t>(bytes[kTypeAt]);
  if (type < static_cast<std::uint8_t>(FrameType::kData) || type > static_cast<std::uint8_t>(kLastFrameType))
    throw BadFrame("frame type " + std::to_string(type) + " does not exist");
  if (bytes[kZeroAt] != std::byte{0} || bytes[kZeroAt + 1] != std::byte{0})
    throw BadFrame("bytes 6 and 7 of a frame must be zero");
  const FrameHeader header{static_cast<FrameType>(type), get_bytes<std::uint64_t>(&bytes[kTagAt]),
                           get_bytes<std::uint64_t>(&bytes[kLengthAt])};
  const bool data = header.type == FrameType::kData;
  if (!may_have(header.type, header.tag))
    throw BadFrame("frame type " + std::to_string(type) + " cannot have the tag " +
                   std::to_string(header.tag));
  const std::uint64_t most = data ? kMostDataBytes : kMostControlBytes;
  if (header.length > most)
    throw BadFrame("a frame of " + std::to_string(header.length) + " bytes, where type " +
                   std::to_string(type) + " may have " + std::to_string(most));
  return header;
}

}  // namespace tacit
