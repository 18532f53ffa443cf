// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "tacit/core/views.h"

namespace tacit {

// FNV-1a over 64 bits: tells equal weights from unequal ones; it is not cryptographic.
constexpr std::uint64_t hash_bytes(ConstBytes data, std::uint64_t hash = 0xCBF29CE484222325ULL) {
  for (const std::byte b : data) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001B3ULL;
  return hash;
}

inline std::string hash_text(std::uint64_t hash) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4U) text[i] = "0123456789abcdef"[hash & 15U];
  return text;
}

}  // namespace tacit
