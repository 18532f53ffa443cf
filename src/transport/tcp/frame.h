// SPDX-License-Identifier: MIT
// Every byte between two ranks is in a frame: a header of 24 bytes, then its payload. docs/wire-format.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tacit/core/error.h"
#include "tacit/core/views.h"

namespace tacit {

enum class FrameType : std::uint8_t {
  kData = 1,    // a message between endpoints; tag is its tag
  kHeartbeat,   // a rank lives, and whom it waits for
  kGoodbye,     // a rank ends, and why
  kHello,       // a rank wants in; its tag is the rank's entry (Endpoint::entry), not 0 where it comes back
  kWelcome,     // and is in; tag is the entry of whoever welcomes it
  kRefusal,     // or is not, and why
  kMemory,      // bytes that a peer on the same machine shall write into its memory
  kProof,       // where it wrote them
  kReadable,    // they were read there, so messages may be offered
  kOffer,       // a message that lies in the sender's memory; tag is its tag
  kTaken,       // it has been read, or nobody wants it
  kWithdraw,    // the sender wants it back
  kAccusation,  // a rank does not hear another; tag is the other's entry
  kGivenUp,     // a rank is lost to those that go on; tag is its entry
  kCircle,      // does the rank that is asked wait, directly or by way of others, for the one that asks?
  kRings,       // memory for rings between two ranks of one machine
  kSwitch,      // what follows comes through the ring
};

constexpr FrameType kLastFrameType = FrameType::kSwitch;

struct FrameHeader {
  FrameType type;
  std::uint64_t tag = 0;
  std::uint64_t length = 0;  // of the payload
};

constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint8_t kWireVersion = 2;
constexpr std::uint64_t kMostDataBytes = std::uint64_t{1} << 40U;     // a model of 2^38 floats
constexpr std::uint64_t kMostControlBytes = std::uint64_t{1} << 20U;  // the roster of ten thousand ranks

// The other side does not speak our protocol. The message says what was found.
struct BadFrame : Error {
  using Error::Error;
};

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;
FrameHeaderBytes encode(const FrameHeader& header);
// Takes the first kFrameHeaderBytes of `bytes`. Throws BadFrame for a wrong magic, version, type, tag or length.
FrameHeader decode_frame(ConstBytes bytes);

}  // namespace tacit
