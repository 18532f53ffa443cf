// SPDX-License-Identifier: MIT
// `name:key=value,key=value`, the way strategies, compressors, models, data sets, optimisers and
// schedules are written everywhere. Parsed once, with bounds; what nobody asked for is refused.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacit {

// A parsed spec. Keys and the name are in canonical form ('-' is '_').
struct Spec {
  static Spec parse(std::string_view text);  // throws InvalidConfig
  std::string text;                          // as the user wrote it
  std::string name;
  std::map<std::string, std::string> options;  // a key without '=' has the value "true"
};

// The most of steps and the like, which have no bound of their own.
inline constexpr std::int64_t kMany = 1'000'000'000;

// What an option is for, in a few words, and how its default is called where that is not the same number everywhere.
struct Meaning {
  std::string text;
  std::string fallback{};  // "the number of ranks"; empty: the value itself
};

// An option as somebody asked for it, for `tacit list`: what the code reads is what the user is told.
struct OptionInfo {
  std::string key;
  std::string fallback;  // empty: nothing
  std::string range;     // "1 to 100", "0 or more", "true or false", "tensor or model"; empty: any text
  std::string meaning;
};

// Hands options out by key, each with its default, its bounds and its meaning; finish() refuses what is left over.
//
// Errors  InvalidConfig that names the spec, the key, the value and what is wanted.
class OptionReader {
 public:
  explicit OptionReader(Spec spec) : spec_(std::move(spec)), left_(spec_.options) {}

  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t lo, std::int64_t hi,
                       const Meaning& meaning);
  double number(const std::string& key, double fallback, double lo, double hi, const Meaning& meaning);
  bool flag(const std::string& key, bool fallback, const Meaning& meaning);
  std::string text(const std::string& key, const std::string& fallback, const Meaning& meaning);
  std::string choice(const std::string& key, const std::string& fallback,
                     std::span<const std::string> allowed, const Meaning& meaning);

  // True where the user gave the key. Does not count as asking for it.
  bool given(const std::string& key) const { return spec_.options.contains(key); }
  // Refuses a key that the user gave where it has no meaning: `only_with("overlap", mode == "pull", "mode=pull")`.
  void only_with(const std::string& key, bool holds, const std::string& condition) const;
  // Everything that was asked for so far, each key once, in that order.
  std::span<const OptionInfo> asked() const { return asked_; }
  const Spec& spec() const { return spec_; }
  void finish() const;

 private:
  // The user's text for the key, or nullptr; remembers that somebody asked.
  const std::string* take(OptionInfo info);
  [[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& want) const;

  Spec spec_;
  std::map<std::string, std::string> left_;
  std::vector<OptionInfo> asked_;
};

}  // namespace tacit
