// SPDX-License-Identifier: MIT
// Views of memory that somebody else owns. Passing one never transfers ownership.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace tacit {

using FloatView = std::span<float>;
using ConstFloatView = std::span<const float>;
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// A half-open range of a flat vector: where a tensor, a chunk or a shard lies.
struct Slice {
  std::size_t offset = 0;
  std::size_t count = 0;
  friend constexpr bool operator==(const Slice&, const Slice&) = default;
};

constexpr FloatView part(FloatView x, Slice s) { return x.subspan(s.offset, s.count); }
constexpr ConstFloatView part(ConstFloatView x, Slice s) { return x.subspan(s.offset, s.count); }

inline Bytes bytes_of(FloatView x) { return std::as_writable_bytes(x); }
inline ConstBytes bytes_of(ConstFloatView x) { return std::as_bytes(x); }

// The floats inside a message that was sent from float memory; transports keep the alignment.
inline ConstFloatView floats_in(ConstBytes b) {
  return {reinterpret_cast<const float*>(b.data()), b.size() / sizeof(float)};
}

// Copies equally long views; both may be empty.
template <class T>
void copy(std::span<const T> from, std::span<T> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}
inline void copy(ConstFloatView from, FloatView to) { copy<float>(from, to); }

}  // namespace tacit
