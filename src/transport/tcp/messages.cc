// SPDX-License-Identifier: MIT
#include "transport/tcp/messages.h"

#include "tacit/core/text.h"
#include "transport/tcp/bytes.h"

namespace tacit {
namespace {

constexpr std::size_t kMostHostChars = 64;
constexpr std::size_t kMostReasonChars = 4096;

// Reasons come from error messages; what goes on the wire is cut to what is read.
std::string cut(const std::string& text) { return text.substr(0, kMostReasonChars); }

}  // namespace

Payload encode(const Hello& hello) {
  ByteWriter out;
  out.rank(hello.rank);
  out.rank(hello.size);
  out.number(hello.port);
  out.text(hello.job);
  return out.bytes();
}

Hello decode_hello(ConstBytes payload) {
  ByteReader in(payload);
  Hello hello;
  hello.rank = in.rank();
  hello.size = in.rank();
  hello.port = in.number<std::uint16_t>();
  hello.job = in.text(kMostJobChars);
  in.end();
  return hello;
}

Payload encode(const Welcome& welcome) {
  ByteWriter out;
  out.rank(welcome.rank);
  out.number(static_cast<std::uint32_t>(welcome.roster.size()));
  for (const Address& address : welcome.roster) {
    out.text(address.host);
    out.number(address.port);
  }
  return out.bytes();
}

Welcome decode_welcome(ConstBytes payload) {
  ByteReader in(payload);
  Welcome welcome;
  welcome.rank = in.rank();
  const auto count = in.number<std::uint32_t>();
  // Grows with what is there and not with what was announced.
  for (std::uint32_t i = 0; i < count; ++i) {
    Address address;
    address.host = in.text(kMostHostChars);
    address.port = in.number<std::uint16_t>();
    welcome.roster.push_back(std::move(address));
  }
  in.end();
  return welcome;
}

Payload encode_refusal(const std::string& reason) {
  ByteWriter out;
  out.text(cut(reason));
  return out.bytes();
}

std::string decode_refusal(ConstBytes payload) {
  ByteReader in(payload);
  std::string reason = shown(in.text(kMostReasonChars));
  in.end();
  return reason;
}

Payload encode(const Departure& departure) {
  ByteWriter out;
  out.number(static_cast<std::uint8_t>(departure.failed ? 1 : 0));
  out.rank(departure.culprit);
  out.text(cut(departure.why));
  return out.bytes();
}

Departure decode_departure(ConstBytes payload) {
  ByteReader in(payload);
  Departure departure;
  const auto failed = in.number<std::uint8_t>();
  if (failed > 1) throw BadFrame("a rank ends with 0 or 1 and not with " + std::to_string(failed));
  departure.failed = failed == 1;
  departure.culprit = in.rank();
  departure.why = shown(in.text(kMostReasonChars));
  in.end();
  return departure;
}

Payload encode(const WaitState& wait) {
  ByteWriter out;
  out.rank(wait.peer);
  out.number(wait.tag);
  out.number(wait.microseconds);
  return out.bytes();
}

WaitState decode_wait(ConstBytes payload) {
  ByteReader in(payload);
  WaitState wait;
  wait.peer = in.rank();
  wait.tag = in.number<std::uint64_t>();
  wait.microseconds = in.number<std::uint64_t>();
  in.end();
  return wait;
}

Payload encode(const CircleQuestion& question) {
  ByteWriter out;
  out.number(question.received);
  out.number(static_cast<std::uint32_t>(question.path.size()));
  for (const CircleQuestion::Link& link : question.path) {
    out.rank(link.rank);
    out.number(link.tag);
    out.number(link.number);
  }
  return out.bytes();
}

CircleQuestion decode_question(ConstBytes payload) {
  ByteReader in(payload);
  CircleQuestion question;
  question.received = in.number<std::uint64_t>();
  const auto links = in.number<std::uint32_t>();
  constexpr std::size_t kLinkBytes = 20;
  if (links == 0 || links > payload.size() / kLinkBytes)
    throw BadFrame("a question of " + std::to_string(links) + " waits in " + std::to_string(payload.size()) +
                   " bytes");
  question.path.resize(links);
  for (CircleQuestion::Link& link : question.path) {
    link.rank = in.rank();
    link.tag = in.number<std::uint64_t>();
    link.number = in.number<std::uint64_t>();
    if (!Tag::from_bits(link.tag)) throw BadFrame("a wait in the tag " + std::to_string(link.tag));
  }
  in.end();
  return question;
}

Payload encode_token(const MemoryToken& token) { return {token.begin(), token.end()}; }

MemoryToken decode_token(ConstBytes payload) {
  ByteReader in(payload);
  MemoryToken token{};
  for (std::byte& b : token) b = static_cast<std::byte>(in.number<std::uint8_t>());
  in.end();
  return token;
}

Payload encode(const MemoryProof& proof) {
  ByteWriter out;
  out.number(proof.process);
  out.number(proof.address);
  return out.bytes();
}

MemoryProof decode_proof(ConstBytes payload) {
  ByteReader in(payload);
  MemoryProof proof;
  proof.process = in.number<std::uint32_t>();
  proof.address = in.number<std::uint64_t>();
  in.end();
  return proof;
}

Payload encode(const OfferedMessage& offer) {
  ByteWriter out;
  out.number(offer.ticket);
  out.number(offer.address);
  out.number(offer.size);
  out.number(offer.valid);
  return out.bytes();
}

OfferedMessage decode_offer(ConstBytes payload) {
  ByteReader in(payload);
  OfferedMessage offer;
  offer.ticket = in.number<std::uint64_t>();
  offer.address = in.number<std::uint64_t>();
  offer.size = in.number<std::uint64_t>();
  offer.valid = in.number<std::uint64_t>();
  in.end();
  if (offer.size > kMostDataBytes)
    throw BadFrame("an offer of " + std::to_string(offer.size) + " bytes, where " +
                   std::to_string(kMostDataBytes) + " are allowed");
  return offer;
}

Payload encode_ticket(std::uint64_t ticket) {
  ByteWriter out;
  out.number(ticket);
  return out.bytes();
}

std::uint64_t decode_ticket(ConstBytes payload) {
  ByteReader in(payload);
  const auto ticket = in.number<std::uint64_t>();
  in.end();
  return ticket;
}

Payload encode(const RingOffer& offer) {
  ByteWriter out;
  out.number(offer.descriptor);
  out.number(offer.bytes);
  return out.bytes();
}

RingOffer decode_rings(ConstBytes payload) {
  ByteReader in(payload);
  RingOffer offer;
  offer.descriptor = in.number<std::uint32_t>();
  offer.bytes = in.number<std::uint64_t>();
  in.end();
  return offer;
}

Payload encode(const Accusation& accusation) {
  ByteWriter out;
  out.rank(accusation.accuser);
  out.rank(accusation.accused);
  out.number(static_cast<std::uint64_t>(accusation.silent.count() * 1e6));
  return out.bytes();
}

Accusation decode_accusation(ConstBytes payload) {
  ByteReader in(payload);
  Accusation accusation;
  accusation.accuser = in.rank();
  accusation.accused = in.rank();
  accusation.silent = Seconds(static_cast<double>(in.number<std::uint64_t>()) / 1e6);
  in.end();
  return accusation;
}

Payload encode(const Loss& loss) {
  ByteWriter out;
  out.rank(loss.rank);
  out.text(cut(loss.why));
  return out.bytes();
}

Loss decode_loss(ConstBytes payload) {
  ByteReader in(payload);
  Loss loss;
  loss.rank = in.rank();
  loss.why = shown(in.text(kMostReasonChars));
  in.end();
  return loss;
}

}  // namespace tacit
