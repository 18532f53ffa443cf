// SPDX-License-Identifier: MIT
// What a resumed run needs, as named entries in a flat buffer. Entries are read in the order they were written.
//
// Layout  per entry: u32 length of the name, the name, u64 length of the data, the data; in the machine's byte order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/space.h"
#include "tacit/core/views.h"

namespace tacit {

// Memory  each vector is copied once, into memory of its own: nothing is moved as the state grows.
class StateWriter {
 public:
  void write(std::string_view name, ConstBytes data) {
    write_header(name, data.size());
    append(data);
  }
  void write(std::string_view name, ConstFloatView x) {
    write_header(name, x.size_bytes());
    // A piece begins where floats may lie.
    const Bytes room = add_piece(x.size_bytes());
    if (x.empty()) return;
    if (!x.beside(ConstFloatView()))
      std::fill(room.begin(), room.end(), std::byte{0});  // it may have no content
    copy(x, FloatView(std::span(reinterpret_cast<float*>(room.data()), x.size())));
  }
  void write(std::string_view name, std::uint64_t value) { write(name, std::as_bytes(std::span(&value, 1))); }

  // The state, as bytes that follow each other.
  std::vector<ConstBytes> pieces() const {
    std::vector<ConstBytes> all;
    for (const Piece& each : pieces_) all.emplace_back(each.data.get(), each.used);
    return all;
  }
  // The same as one; they hold until the next write().
  ConstBytes bytes() {
    if (pieces_.size() == 1) return pieces()[0];
    std::size_t size = 0;
    for (const Piece& each : pieces_) size += each.used;
    const std::vector<Piece> some = std::exchange(pieces_, {});
    for (const Piece& each : some) copy(ConstBytes(each.data.get(), each.used), room_for(each.used, size));
    return pieces_.empty() ? ConstBytes() : ConstBytes(pieces_.back().data.get(), size);
  }

 private:
  struct Piece {
    HostMemory data;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  static constexpr std::size_t kSmall = 4096;  // bytes that share a piece

  void write_header(std::string_view name, std::uint64_t data_size) {
    const auto name_size = static_cast<std::uint32_t>(name.size());
    append(std::as_bytes(std::span(&name_size, 1)));
    append(std::as_bytes(std::span(name)));
    append(std::as_bytes(std::span(&data_size, 1)));
  }
  // Zeros, where the data has no content.
  void append(ConstBytes data) {
    const Bytes room = room_for(data.size());
    has_content(data) ? copy(data, room) : std::fill(room.begin(), room.end(), std::byte{0});
  }
  // In the last piece, or in a new one of so many bytes.
  Bytes room_for(std::size_t size, std::size_t piece = kSmall) {
    if (pieces_.empty() || pieces_.back().size - pieces_.back().used < size) {
      (void)add_piece(std::max(size, piece));
      pieces_.back().used = 0;
    }
    Piece& last = pieces_.back();
    const Bytes room(last.data.get() + last.used, size);
    last.used += size;
    return room;
  }
  // Full.
  Bytes add_piece(std::size_t size) {
    pieces_.push_back({host_memory(size), size, size});
    return {pieces_.back().data.get(), size};
  }
  std::vector<Piece> pieces_;
};

// Lifetime  the bytes must outlive it.
// Errors    InvalidConfig that names the entry: the state is another run's, or damaged.
class StateReader {
 public:
  explicit StateReader(ConstBytes bytes) : left_(bytes) {}

  // The next entry, which must have this name and length.
  void read(std::string_view name, Bytes into) {
    const ConstBytes data = entry(name);
    if (data.size() != into.size())
      refuse(name, "it has " + std::to_string(data.size()) + " bytes where " + std::to_string(into.size()) +
                       " fit");
    copy(data, into);
  }
  void read(std::string_view name, FloatView into) {
    std::vector<float> here(into.size());
    read(name, bytes_of(FloatView(here)));
    copy(here, into);
  }
  std::uint64_t number(std::string_view name) {
    std::uint64_t value = 0;
    read(name, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  // The next entry, which must have this name, however long it is.
  std::vector<float> floats(std::string_view name) {
    const ConstBytes data = entry(name);
    if (data.size() % sizeof(float) != 0) refuse(name, "it is not made of floats");
    std::vector<float> values(data.size() / sizeof(float));
    copy(data, bytes_of(FloatView(values)));
    return values;
  }
  // The same as bytes, which live as long as those that this was made of.
  ConstBytes bytes(std::string_view name) { return entry(name); }
  bool at_end() const { return left_.empty(); }

 private:
  ConstBytes entry(std::string_view name) {
    const auto name_size = take_number<std::uint32_t>(name);
    const ConstBytes found = take(name, name_size);
    if (name_size != name.size() || std::memcmp(found.data(), name.data(), name_size) != 0)
      refuse(name, "another entry is in its place");
    return take(name, take_number<std::uint64_t>(name));
  }
  template <class Number>
  Number take_number(std::string_view name) {
    Number value = 0;
    copy(take(name, sizeof value), std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  ConstBytes take(std::string_view name, std::size_t size) {
    if (size > left_.size()) refuse(name, "the state ends early");
    const ConstBytes taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  [[noreturn]] static void refuse(std::string_view name, const std::string& why) {
    throw InvalidConfig("saved state, entry '" + std::string(name) + "': " + why +
                        "; resume with the options the state was saved with");
  }
  ConstBytes left_;
};

}  // namespace tacit
