// SPDX-License-Identifier: MIT
#include "tacit/core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <numeric>

namespace tacit {
namespace {

std::string small(std::string_view name) {
  std::string out = canonical(name);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// How many letters must be added, dropped, replaced or swapped with their neighbour to turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d.back().back();
}

// A character of UTF-8 at the start of a text; no bytes where there is none.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return {1, byte(0)};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC0 || byte(0) > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? Character{} : Character{bytes, code};
}

bool harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;        // control characters
  if (code == 0x061C || code == 0x200E || code == 0x200F) return false;  // directions of writing
  return !(code >= 0x2028 && code <= 0x202E) && !(code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string canonical(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  const std::string wanted = small(name);
  std::string best;
  // Farther than this is no help: two letters in five, one in three.
  const std::size_t limit =
      std::max<std::size_t>(1, std::min(name.size() / 2, std::max<std::size_t>(2, name.size() / 3)));
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : known) {
    const std::size_t d = distance(wanted, small(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known) {
  std::string text = "unknown " + std::string(kind) + " '" + std::string(name) + "'";
  if (const std::string near = nearest(name, known); !near.empty()) text += "; did you mean '" + near + "'?";
  if (known.empty()) return text + "; none is known here";
  text += text.back() == '?' ? " Known: " : "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i == 0 ? "" : ", ") + known[i];
  return text;
}

std::string exact(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string shown(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const Character next = first_character(text);
    const bool as_it_is = next.bytes > 0 && harmless(next.code);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(next.bytes, 1));
    text.remove_prefix(bytes.size());
    if (as_it_is) {
      out += bytes;
      continue;
    }
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      out += std::string("\\x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
    }
  }
  return out;
}

}  // namespace tacit
