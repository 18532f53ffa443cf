// SPDX-License-Identifier: MIT
// Numbers and texts as bytes, little-endian, for the payloads of control frames.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "tacit/core/views.h"
#include "transport/tcp/frame.h"

namespace tacit {

template <std::unsigned_integral T>
void put_bytes(T value, std::byte* to) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T>
T get_bytes(const std::byte* from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(from[i]) << (8 * i)));
  return value;
}

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    put_bytes(value, &bytes_[bytes_.size() - sizeof(T)]);
  }
  void rank(int value) { number(static_cast<std::uint32_t>(value)); }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    const auto chars = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), chars.begin(), chars.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Throws BadFrame where the bytes end early, a text is longer than allowed, or bytes are left at the end.
class ByteReader {
 public:
  explicit ByteReader(ConstBytes bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    return get_bytes<T>(take(sizeof(T)).data());
  }
  int rank() { return static_cast<int>(number<std::uint32_t>()); }
  std::string text(std::size_t most) {
    const auto size = number<std::uint32_t>();
    if (size > most)
      throw BadFrame("a text of " + std::to_string(size) + " bytes where " + std::to_string(most) +
                     " are allowed");
    const ConstBytes chars = take(size);
    return {reinterpret_cast<const char*>(chars.data()), chars.size()};
  }
  std::size_t left() const { return bytes_.size(); }
  void end() const {
    if (!bytes_.empty()) throw BadFrame(std::to_string(bytes_.size()) + " bytes too many");
  }

 private:
  ConstBytes take(std::size_t count) {
    if (count > bytes_.size())
      throw BadFrame("the payload ends " + std::to_string(count - bytes_.size()) + " bytes early");
    const ConstBytes taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  ConstBytes bytes_;
};

}  // namespace tacit
