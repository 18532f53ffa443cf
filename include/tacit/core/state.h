// SPDX-License-Identifier: MIT
// What a resumed run needs, as named entries in a flat buffer. Entries are read in the order they were written.
//
// Layout  per entry: u32 length of the name, the name, u64 length of the data, the data; in the machine's byte order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/views.h"

namespace tacit {

class StateWriter {
 public:
  void write(std::string_view name, ConstBytes data) {
    write_header(name, data.size());
    append(data);
  }
  void write(std::string_view name, ConstFloatView x) {
    write_header(name, x.size_bytes());
    const std::size_t at = out_.size();
    out_.resize(at + x.size_bytes());
    // Floats in a buffer of bytes need not lie where floats may, and x may lie elsewhere: by way of a small vector.
    std::vector<float> here(std::min(x.size(), kAtOnce));
    for (std::size_t done = 0; done < x.size(); done += kAtOnce) {
      const ConstFloatView some = x.subspan(done, std::min(kAtOnce, x.size() - done));
      copy(some, FloatView(here).first(some.size()));
      copy(std::as_bytes(std::span<const float>(here).first(some.size())),
           Bytes(out_).subspan(at + done * sizeof(float), some.size_bytes()));
    }
  }
  void write(std::string_view name, std::uint64_t value) { write(name, std::as_bytes(std::span(&value, 1))); }

  ConstBytes bytes() const { return out_; }

 private:
  static constexpr std::size_t kAtOnce = 1 << 16;  // floats

  void write_header(std::string_view name, std::uint64_t data_size) {
    const auto name_size = static_cast<std::uint32_t>(name.size());
    append(std::as_bytes(std::span(&name_size, 1)));
    append(std::as_bytes(std::span(name)));
    append(std::as_bytes(std::span(&data_size, 1)));
  }
  void append(ConstBytes data) {
    const std::size_t at = out_.size();
    out_.resize(at + data.size());
    copy(data, Bytes(out_).subspan(at));
  }
  std::vector<std::byte> out_;
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
