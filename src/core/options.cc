// SPDX-License-Identifier: MIT
#include "tacit/core/options.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {
namespace {

template <class Number>
bool parse_whole(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

// The shortest text of a number: 0.01, not 0.010000.
std::string plain(double x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

Spec Spec::parse(std::string_view text) {
  Spec spec;
  spec.text = std::string(text);
  const auto colon = text.find(':');
  spec.name = canonical(text.substr(0, colon));
  if (spec.name.empty())
    throw InvalidConfig("'" + spec.text + "' has no name; write name:key=value,key=value");
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    if (comma != std::string_view::npos && rest.empty())
      throw InvalidConfig("'" + spec.text + "' ends with a comma; take it away");
    const auto equals = item.find('=');
    const std::string key = canonical(item.substr(0, equals));
    if (key.empty()) throw InvalidConfig("'" + spec.text + "' has an option without a name; write key=value");
    const bool bare = equals == std::string_view::npos;
    if (!spec.options.emplace(key, bare ? "true" : item.substr(equals + 1)).second)
      throw InvalidConfig("'" + spec.text + "' gives '" + key + "' twice; keep one");
  }
  return spec;
}

const std::string* OptionReader::take(const std::string& key) {
  asked_.push_back(key);
  left_.erase(key);
  const auto found = spec_.options.find(key);
  return found == spec_.options.end() ? nullptr : &found->second;
}

void OptionReader::refuse(const std::string& key, const std::string& value, const std::string& want) const {
  throw InvalidConfig(spec_.name + ": " + key + "=" + value + " is not " + want);
}

std::int64_t OptionReader::integer(const std::string& key, std::int64_t fallback, std::int64_t lo,
                                   std::int64_t hi) {
  const std::string* text = take(key);
  if (text == nullptr) return fallback;
  std::int64_t value = 0;
  if (!parse_whole(*text, value) || value < lo || value > hi)
    refuse(key, *text, "an integer in [" + std::to_string(lo) + ", " + std::to_string(hi) + "]");
  return value;
}

double OptionReader::number(const std::string& key, double fallback, double lo, double hi) {
  const std::string* text = take(key);
  if (text == nullptr) return fallback;
  double value = 0;
  if (!parse_whole(*text, value) || !std::isfinite(value) || value < lo || value > hi)
    refuse(key, *text, "a number in [" + plain(lo) + ", " + plain(hi) + "]");
  return value;
}

bool OptionReader::flag(const std::string& key, bool fallback) {
  const std::string* text = take(key);
  if (text == nullptr) return fallback;
  if (*text == "true" || *text == "1" || *text == "yes") return true;
  if (*text == "false" || *text == "0" || *text == "no") return false;
  refuse(key, *text, "true or false");
}

std::string OptionReader::text(const std::string& key, const std::string& fallback) {
  const std::string* text = take(key);
  return text == nullptr ? fallback : *text;
}

std::string OptionReader::choice(const std::string& key, const std::string& fallback,
                                 std::span<const std::string> allowed) {
  const std::string* text = take(key);
  if (text == nullptr) return fallback;
  for (const std::string& name : allowed)
    if (canonical(*text) == canonical(name)) return name;
  throw InvalidConfig(spec_.name + ": " + unknown_name(key, *text, allowed));
}

void OptionReader::finish() const {
  if (left_.empty()) return;
  throw InvalidConfig(spec_.name + ": " + unknown_name("option", left_.begin()->first, asked_));
}

}  // namespace tacit
