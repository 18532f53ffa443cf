// SPDX-License-Identifier: MIT
// An input of frames_fuzz: what a peer sends, in which pieces, and what the rank does between them.
//   byte 0              bit 0: the rank tries whether it can read the peer's memory, and answers where the peer tries
//                       bit 1: the rank is the higher of the two, so that the peer makes the rings
//   byte 1              number of steps, modulo kMostSteps
//   two bytes per step  how many bytes the peer sends, then what the rank does: act:3, tag:2, size:3 from the low bits
//   the rest            the peer's bytes
// The steps are repeated, kMostTurns of them in all; what is left of the peer's bytes then comes at once. Once the peer
// has switched, what it sends next comes through the ring that it made, and what it sent with the switch are bells.
#pragma once

#include <array>
#include <cstdint>

#include "tacit/transport/tag.h"

namespace tacit::fuzz {

enum class Act : std::uint8_t {
  kNothing,
  kReceive,
  kReceiveFromAny,
  kBorrow,
  kWait,
  kDropFirst,
  kDropLast,
  kSend
};

constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostTurns = 32;
constexpr std::array<std::size_t, 8> kSizes{0, 1, 7, 24, 100, 1000, 2000, 6000};
constexpr std::uint32_t kTags = 4;
constexpr Tag tag(std::uint32_t number) {
  return {Tag::Channel::kExchange, Tag::Lane::kTrain, number % kTags};
}
constexpr std::uint8_t step(Act act, std::uint32_t tag_number = 0, std::uint32_t size_number = 0) {
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(act) | tag_number << 3U | size_number << 5U);
}

// The peer's memory as the rank can read it. Its first bytes are those that the rank makes up to try it.
constexpr std::uint32_t kPeerProcess = 77;
constexpr std::uint64_t kPeerMemory = 0x10000;
constexpr std::size_t kPeerMemoryBytes = 8192;
constexpr std::uint64_t kPeerTicket = 0x20000;  // where a word is 1
constexpr std::uint32_t kPeerRings = 5;         // the descriptor under which it has rings
constexpr std::size_t kRingBytes = 4096;
constexpr std::byte peer_memory(std::size_t at) { return static_cast<std::byte>(at * 31 + (at >> 8U)); }

}  // namespace tacit::fuzz
