// SPDX-License-Identifier: MIT
// Numbers as few bits, highest first: Elias omega codes (P. Elias, "Universal codeword sets and representations of the
// integers", IEEE Trans. Inf. Theory 21, 1975) and Rice codes (R. F. Rice, "Some practical universal noiseless coding
// techniques", JPL Publication 79-22, 1979).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/wire.h"

namespace tacit {

class BitWriter {
 public:
  explicit BitWriter(Bytes out) : out_(out) {}

  // The lowest `count` (at most 32) bits of value.
  void put(std::uint32_t value, int count) {
    held_ = held_ << count | value;
    bits_ += count;
    for (; bits_ >= 8; bits_ -= 8) push(static_cast<std::uint8_t>(held_ >> (bits_ - 8)));
  }
  // k >= 1: groups of binary digits, each one bit longer than the group before says; a zero ends them.
  void elias(std::uint32_t k) {
    std::array<std::uint32_t, 8> groups{};
    std::size_t count = 0;
    for (; k > 1; k = static_cast<std::uint32_t>(std::bit_width(k)) - 1) groups[count++] = k;
    while (count-- > 0) put(groups[count], static_cast<int>(std::bit_width(groups[count])));
    put(0, 1);
  }
  // k / 2^low ones and a zero, then the low digits: short where k is about 2^low.
  void rice(std::uint32_t k, int low) {
    std::uint32_t ones = k >> low;
    for (; ones >= 32; ones -= 32) put(~0U, 32);
    put((1U << ones) - 1, static_cast<int>(ones));
    put(0, 1);
    put(k & ((1U << low) - 1), low);
  }
  // The bytes written, the last one filled up with zeros.
  std::size_t finish() {
    if (bits_ > 0) push(static_cast<std::uint8_t>(held_ << (8 - bits_)));
    bits_ = 0;
    return at_;
  }

 private:
  void push(std::uint8_t byte) {
    TACIT_CHECK(at_ < out_.size(), "the bits do not fit");
    out_[at_++] = static_cast<std::byte>(byte);
  }
  Bytes out_;
  std::size_t at_ = 0;
  std::uint64_t held_ = 0;
  int bits_ = 0;
};

// Throws Mismatch where the bits end too early or a number is too large.
class BitReader {
 public:
  BitReader(const char* who, ConstBytes in) : who_(who), in_(in) {}

  std::uint32_t bit() {
    if (at_ / 8 >= in_.size()) wire::refuse(who_, "ends inside a number");
    const auto byte = static_cast<std::uint32_t>(in_[at_ / 8]);
    const std::uint32_t value = byte >> (7 - at_ % 8) & 1U;
    ++at_;
    return value;
  }
  std::uint32_t elias() {
    std::uint32_t k = 1;
    while (bit() == 1) {
      if (k > 31) wire::refuse(who_, "has a number of more than 32 bits");
      std::uint32_t next = 1;
      for (std::uint32_t i = 0; i < k; ++i) next = next << 1U | bit();
      k = next;
    }
    return k;
  }
  std::uint32_t rice(int low) {
    std::uint32_t k = 0;
    while (bit() == 1) ++k;
    for (int i = 0; i < low; ++i) k = k << 1U | bit();
    return k;
  }
  std::size_t bytes_read() const { return (at_ + 7) / 8; }

 private:
  const char* who_;
  ConstBytes in_;
  std::size_t at_ = 0;  // in bits
};

}  // namespace tacit
