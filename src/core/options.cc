// SPDX-License-Identifier: MIT
#include "tacit/core/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

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

OptionInfo described(const std::string& key, std::string fallback, std::string range,
                     const Meaning& meaning) {
  return {key, meaning.fallback.empty() ? std::move(fallback) : meaning.fallback, std::move(range),
          meaning.text};
}

// "a, b or c"
std::string one_of(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
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

const std::string* OptionReader::take(OptionInfo info) {
  const auto same = [&](const OptionInfo& each) { return each.key == info.key; };
  left_.erase(info.key);
  const auto found = spec_.options.find(info.key);
  if (std::none_of(asked_.begin(), asked_.end(), same)) asked_.push_back(std::move(info));
  return found == spec_.options.end() ? nullptr : &found->second;
}

void OptionReader::refuse(const std::string& key, const std::string& value, const std::string& want) const {
  throw InvalidConfig(spec_.name + ": " + key + "=" + value + " is not " + want);
}

std::int64_t OptionReader::integer(const std::string& key, std::int64_t fallback, std::int64_t lo,
                                   std::int64_t hi, const Meaning& meaning) {
  const bool bounded = hi < std::numeric_limits<std::int64_t>::max();
  const std::string range = std::to_string(lo) + (bounded ? " to " + std::to_string(hi) : " or more");
  const std::string* text = take(described(key, std::to_string(fallback), range, meaning));
  if (text == nullptr) return fallback;
  std::int64_t value = 0;
  if (!parse_whole(*text, value) || value < lo || value > hi)
    refuse(key, *text, "an integer in [" + std::to_string(lo) + ", " + std::to_string(hi) + "]");
  return value;
}

double OptionReader::number(const std::string& key, double fallback, double lo, double hi,
                            const Meaning& meaning) {
  const std::string* text = take(described(key, plain(fallback), plain(lo) + " to " + plain(hi), meaning));
  if (text == nullptr) return fallback;
  double value = 0;
  if (!parse_whole(*text, value) || !std::isfinite(value) || value < lo || value > hi)
    refuse(key, *text, "a number in [" + plain(lo) + ", " + plain(hi) + "]");
  return value;
}

bool OptionReader::flag(const std::string& key, bool fallback, const Meaning& meaning) {
  const std::string* text = take(described(key, fallback ? "true" : "false", "true or false", meaning));
  if (text == nullptr) return fallback;
  if (*text == "true" || *text == "1" || *text == "yes") return true;
  if (*text == "false" || *text == "0" || *text == "no") return false;
  refuse(key, *text, "true or false");
}

std::string OptionReader::text(const std::string& key, const std::string& fallback, const Meaning& meaning) {
  const std::string* text = take(described(key, fallback, "", meaning));
  return text == nullptr ? fallback : *text;
}

std::string OptionReader::choice(const std::string& key, const std::string& fallback,
                                 std::span<const std::string> allowed, const Meaning& meaning) {
  const std::string* text = take(described(key, fallback, one_of(allowed), meaning));
  if (text == nullptr) return fallback;
  for (const std::string& name : allowed)
    if (canonical(*text) == canonical(name)) return name;
  throw InvalidConfig(spec_.name + ": " + unknown_name(key, *text, allowed));
}

void OptionReader::only_with(const std::string& key, bool holds, const std::string& condition) const {
  if (holds || !given(key)) return;
  throw InvalidConfig(spec_.name + ": " + key + " goes with " + condition + " alone; leave it out");
}

void OptionReader::finish() const {
  if (left_.empty()) return;
  std::vector<std::string> known;
  for (const OptionInfo& each : asked_) known.push_back(each.key);
  throw InvalidConfig(spec_.name + ": " + unknown_name("option", left_.begin()->first, known));
}

}  // namespace tacit
