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

// Hands options out by key, each with its default and its bounds; finish() refuses what is left over.
//
// Errors  InvalidConfig that names the spec, the key, the value and what is wanted.
class OptionReader {
 public:
  explicit OptionReader(Spec spec) : spec_(std::move(spec)), left_(spec_.options) {}

  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t lo, std::int64_t hi);
  double number(const std::string& key, double fallback, double lo, double hi);
  bool flag(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);
  std::string choice(const std::string& key, const std::string& fallback,
                     std::span<const std::string> allowed);

  // True where the user gave the key. Does not count as asking for it.
  bool given(const std::string& key) const { return spec_.options.contains(key); }
  const Spec& spec() const { return spec_; }
  void finish() const;

 private:
  // The user's text for the key, or nullptr; remembers that somebody asked.
  const std::string* take(const std::string& key);
  [[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& want) const;

  Spec spec_;
  std::map<std::string, std::string> left_;
  std::vector<std::string> asked_;
};

}  // namespace tacit
