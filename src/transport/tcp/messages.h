// SPDX-License-Identifier: MIT
// The payloads of control frames. Each has encode and decode; decode throws BadFrame and trusts nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tacit/core/views.h"
#include "transport/fabric.h"
#include "transport/membership.h"

namespace tacit {

using Payload = std::vector<std::byte>;

constexpr std::size_t kMostJobChars = 64;

struct Hello {
  int rank = 0;
  int size = 0;
  std::string job;         // as it was said: shown() shows it
  std::uint16_t port = 0;  // where this rank listens for ranks above it
  friend bool operator==(const Hello&, const Hello&) = default;
};
Payload encode(const Hello& hello);
Hello decode_hello(ConstBytes payload);

struct Address {
  std::string host;  // numeric, or what was said instead: shown() shows it
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

struct Welcome {
  int rank = 0;  // who welcomes
  // By rank, from rank 0; empty from others. To a rank that comes back: without hosts, and port 0 for those that are lost.
  std::vector<Address> roster;
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
Payload encode(const Welcome& welcome);
Welcome decode_welcome(ConstBytes payload);

// An empty reason: there is no place now, come again. What is decoded is fit to be shown.
Payload encode_refusal(const std::string& reason);
std::string decode_refusal(ConstBytes payload);

// What is decoded is fit to be shown.
Payload encode(const Departure& departure);
Departure decode_departure(ConstBytes payload);

// A wait that a rank is in, as its heartbeats tell.
struct WaitState {
  static constexpr int kNobody = -2;
  int peer = kNobody;
  std::uint64_t tag = 0;           // bits
  std::uint64_t microseconds = 0;  // so far
  friend bool operator==(const WaitState&, const WaitState&) = default;
};
Payload encode(const WaitState& wait);
WaitState decode_wait(ConstBytes payload);

// Whether a circle of waits comes back to where it began: circle_watch.h.
struct CircleQuestion {
  struct Link {
    int rank = 0;
    std::uint64_t tag = 0;     // bits
    std::uint64_t number = 0;  // of its wait
    friend bool operator==(const Link&, const Link&) = default;
  };
  std::vector<Link> path{};    // each waits for the next, and the last for whom it asks
  std::uint64_t received = 0;  // messages of its lane that the last had of whom it asks
  friend bool operator==(const CircleQuestion&, const CircleQuestion&) = default;
};
Payload encode(const CircleQuestion& question);
CircleQuestion decode_question(ConstBytes payload);  // never an empty path, and tags that are some

// What whoever wants to read a peer's memory makes up, so that only the peer can have written it there.
using MemoryToken = std::array<std::byte, 16>;
Payload encode_token(const MemoryToken& token);
MemoryToken decode_token(ConstBytes payload);

// Where the peer wrote it.
struct MemoryProof {
  std::uint32_t process = 0;
  std::uint64_t address = 0;
  friend bool operator==(const MemoryProof&, const MemoryProof&) = default;
};
Payload encode(const MemoryProof& proof);
MemoryProof decode_proof(ConstBytes payload);

// A message in its sender's memory.
struct OfferedMessage {
  std::uint64_t ticket = 0;  // the sender's
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t valid = 0;  // where a word is that equals the ticket for as long as the message lies there
  friend bool operator==(const OfferedMessage&, const OfferedMessage&) = default;
};
Payload encode(const OfferedMessage& offer);
OfferedMessage decode_offer(ConstBytes payload);

Payload encode_ticket(std::uint64_t ticket);
std::uint64_t decode_ticket(ConstBytes payload);

// Where rings are that the sender has made: one each way, of so many bytes.
struct RingOffer {
  std::uint32_t descriptor = 0;  // of the sender's process
  std::uint64_t bytes = 0;
  friend bool operator==(const RingOffer&, const RingOffer&) = default;
};
Payload encode(const RingOffer& offer);
RingOffer decode_rings(ConstBytes payload);

Payload encode(const Accusation& accusation);
Accusation decode_accusation(ConstBytes payload);

// A rank that was given up, and why.
Payload encode(const Loss& loss);
Loss decode_loss(ConstBytes payload);

}  // namespace tacit
