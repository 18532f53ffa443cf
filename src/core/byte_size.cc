// SPDX-License-Identifier: MIT
#include "core/byte_size.h"

#include <charconv>
#include <cstdint>
#include <string>

#include "tacit/core/error.h"

namespace tacit {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"kB", 1'000},
                           {"MB", 1'000'000},
                           {"GB", 1'000'000'000},
                           {"KiB", 1ULL << 10},
                           {"MiB", 1ULL << 20},
                           {"GiB", 1ULL << 30}};
constexpr std::uint64_t kLargest = 4ULL << 30;

}  // namespace

std::size_t parse_byte_size(std::string_view what, std::string_view text) {
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string subject = std::string(what) + ": '" + std::string(text) + "'";
  if (error == std::errc{} && number > 0) {
    const std::string_view name(end, static_cast<std::size_t>(last - end));
    for (const Unit& unit : kUnits) {
      if (unit.name != name) continue;
      if (number <= kLargest / unit.bytes) return number * unit.bytes;
      throw InvalidConfig(subject + " is more than 4GiB; give less");
    }
  }
  throw InvalidConfig(subject +
                      " is no size; write 4096, 4KiB, 1MiB or 1GiB, or kB, MB and GB for powers of ten");
}

}  // namespace tacit
