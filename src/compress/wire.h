// SPDX-License-Identifier: MIT
// Parts of a payload as typed views, and how bad ones are refused.
#pragma once

#include <cstdint>
#include <string>

#include "tacit/core/error.h"
#include "tacit/core/views.h"

namespace tacit::wire {

[[noreturn]] inline void refuse(const char* who, const std::string& why) {
  throw Mismatch(std::string(who) + ": a payload " + why +
                 "; do all ranks run the same build with the same compressor?");
}

inline void expect_bytes(const char* who, ConstBytes payload, std::size_t wanted) {
  if (payload.size() != wanted)
    refuse(who, "has " + std::to_string(payload.size()) + " bytes where " + std::to_string(wanted) +
                    " were expected");
}

// `count` values of type T at `offset`, which the caller has checked against the length.
template <class T, class Byte>
auto part(std::span<Byte> bytes, std::size_t offset, std::size_t count) {
  using Value = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  TACIT_CHECK(offset <= bytes.size() && count <= (bytes.size() - offset) / sizeof(T),
              "a payload is too short");
  TACIT_CHECK(reinterpret_cast<std::uintptr_t>(bytes.data() + offset) % alignof(T) == 0,
              "a payload is not aligned");
  return std::span<Value>(reinterpret_cast<Value*>(bytes.data() + offset), count);
}

}  // namespace tacit::wire
