// SPDX-License-Identifier: MIT
// Views of memory that somebody else owns. Passing one never transfers ownership.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace tacit {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

class Space;
// 0: host_space().
Space& space_numbered(std::uint64_t number);

// A half-open range of a flat vector: where a tensor, a chunk or a shard lies.
struct Slice {
  std::size_t offset = 0;
  std::size_t count = 0;
  friend constexpr bool operator==(const Slice&, const Slice&) = default;
};

// Some floats, and the space that they lie in (space.h). Whoever holds one can pass it on and cut it; what is in it is
// for kernels, and for code that has asked for host().
template <class Float>
class BasicFloatView {
 public:
  using Host = std::span<Float>;
  static constexpr int kSizeBits = 48;
  static constexpr std::uint64_t kMostFloats = (std::uint64_t{1} << kSizeBits) - 1;  // that one can count

  constexpr BasicFloatView() = default;
  // Of memory of the host: spans, vectors, arrays.
  template <class Range>
  requires(
      std::is_convertible_v<Range&&, Host> &&
      !std::is_same_v<
          std::remove_cvref_t<Range>,
          BasicFloatView>) constexpr BasicFloatView(Range&&
                                                        range)  // NOLINT(google-explicit-constructor): as a span
      : BasicFloatView(Host(std::forward<Range>(range)), 0) {}
  template <class Writable>
  requires std::is_same_v<const Writable, Float>
  constexpr BasicFloatView(
      BasicFloatView<Writable> x)  // NOLINT(google-explicit-constructor): const is a promise
      : data_(x.data_), size_and_space_(x.size_and_space_) {}

  constexpr std::size_t size() const { return size_and_space_ & kMostFloats; }
  constexpr std::size_t size_bytes() const { return size() * sizeof(Float); }
  constexpr bool empty() const { return size() == 0; }
  constexpr BasicFloatView first(std::size_t n) const { return {at().first(n), space_number()}; }
  constexpr BasicFloatView last(std::size_t n) const { return {at().last(n), space_number()}; }
  constexpr BasicFloatView subspan(std::size_t offset, std::size_t n = std::dynamic_extent) const {
    return {at().subspan(offset, n), space_number()};
  }

  Space& space() const { return space_numbered(space_number()); }
  // The elements; a Bug where they are not the host's.
  Host host() const {
    if (space_number() != 0) refuse_host();
    return at();
  }
  // The same memory.
  constexpr bool is(BasicFloatView<const Float> other) const {
    return data_ == other.data_ && size_and_space_ == other.size_and_space_;
  }
  // The same space.
  constexpr bool beside(BasicFloatView<const Float> other) const {
    return space_number() == other.space_number();
  }

 private:
  template <class>
  friend class BasicFloatView;
  friend class FloatAccess;
  constexpr BasicFloatView(Host at, std::uint64_t space_number)
      : data_(at.data()), size_and_space_(at.size() | space_number << kSizeBits) {}
  constexpr Host at() const { return {data_, size()}; }
  constexpr std::uint64_t space_number() const { return size_and_space_ >> kSizeBits; }
  [[noreturn]] void refuse_host() const;

  // Two words, which calls pass in registers: with a third one every call of a kernel goes through memory, and that of a
  // thousand floats takes half as long again.
  Float* data_ = nullptr;
  std::uint64_t size_and_space_ = 0;  // space 0 is the host's
};

using FloatView = BasicFloatView<float>;
using ConstFloatView = BasicFloatView<const float>;

constexpr FloatView part(FloatView x, Slice s) { return x.subspan(s.offset, s.count); }
constexpr ConstFloatView part(ConstFloatView x, Slice s) { return x.subspan(s.offset, s.count); }

// --- Bytes, which is what messages are made of. Floats become bytes, and bytes floats, here and nowhere else.

// False: the bytes only stand for some (phantom_space()). They have an address and a length, and nobody may look.
inline bool has_content(ConstBytes b) {
  // The upper half of the addresses is no program's on any 64-bit system: what has no content is there.
  static_assert(sizeof(void*) == sizeof(std::int64_t));
  return reinterpret_cast<std::intptr_t>(b.data()) >= 0;
}

// What a transport carries in place of x; a Bug where x lies in a space that a transport cannot read.
Bytes bytes_of(FloatView x);
ConstBytes bytes_of(ConstFloatView x);

// The floats inside a message that was sent from float memory; transports keep the alignment.
ConstFloatView floats_in(ConstBytes b);

// --- Copies of equally long views; both may be empty.

template <class T>
void copy(std::span<const T> from, std::span<T> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}
// Nothing happens where one of them has no content.
inline void copy(ConstBytes from, Bytes to) {
  if (has_content(from) && has_content(to)) copy<std::byte>(from, to);
}
// From any space to the same or the host's, or from the host's.
void copy(ConstFloatView from, FloatView to);

}  // namespace tacit
