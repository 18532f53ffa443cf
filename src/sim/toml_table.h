// SPDX-License-Identifier: MIT
// TOML files whose keys are all known: cluster files and experiments.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <toml.hpp>
#include <utility>
#include <vector>

#include "core/files.h"
#include "sim/toml_text.h"
#include "sim/units.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/sim/cluster.h"

namespace tacit::sim {

// One table of a file; `where` is what messages write before its keys: "a.toml: ", "a.toml: run 2.". Every key is asked
// for once; finish() refuses what nobody asked for, with the nearest known key.
class Table {
 public:
  Table(const toml::value& value, std::string where) : where_(std::move(where)) {
    if (!value.is_table()) refuse("is not a table");
    table_ = &value.as_table();
  }

  std::string name(const std::string& key) const { return where_ + key; }

  const toml::value* find(const std::string& key) {
    asked_.push_back(key);
    const auto found = table_->find(key);
    return found == table_->end() ? nullptr : &found->second;
  }
  std::string text(const std::string& key, const std::string& fallback) {
    const toml::value* v = find(key);
    if (v == nullptr) return fallback;
    if (!v->is_string()) refuse_value(key, "a text in quotes");
    return v->as_string().str;
  }
  int integer(const std::string& key, int fallback) {
    const toml::value* v = find(key);
    return v == nullptr ? fallback : to_integer(*v, key);
  }
  double number(const std::string& key, double fallback) {
    const toml::value* v = find(key);
    return v == nullptr ? fallback : to_number(*v, key);
  }
  bool flag(const std::string& key, bool fallback) {
    const toml::value* v = find(key);
    if (v == nullptr) return fallback;
    if (!v->is_boolean()) refuse_value(key, "true or false");
    return v->as_boolean();
  }
  Seconds time(const std::string& key, Seconds fallback) {
    const std::string text = this->text(key, "");
    return text.empty() ? fallback : sim::parse_time(text, name(key));
  }
  LinkSpeed link(const LinkSpeed& fallback) {
    LinkSpeed link = fallback;
    if (const std::string b = text("bandwidth", ""); !b.empty())
      link.bandwidth = sim::parse_bandwidth(b, name("bandwidth"));
    link.latency = time("latency", fallback.latency);
    return link;
  }
  // One number, or a list of them.
  std::vector<double> numbers(const std::string& key) {
    std::vector<double> all;
    for (const toml::value& each : list(key)) all.push_back(to_number(each, key));
    return all;
  }
  std::vector<int> integers(const std::string& key) {
    std::vector<int> all;
    for (const toml::value& each : list(key)) all.push_back(to_integer(each, key));
    return all;
  }
  std::vector<Table> tables(const std::string& key) {
    std::vector<Table> all;
    const toml::value* v = find(key);
    if (v == nullptr) return all;
    if (!v->is_array()) refuse_value(key, "tables, written [[" + key + "]]");
    for (const toml::value& each : v->as_array())
      all.emplace_back(each, name(key) + " " + std::to_string(all.size() + 1) + ".");
    return all;
  }

  void finish() const {
    for (const auto& [key, value] : *table_)
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        throw InvalidConfig(where_ + unknown_name("key", key, asked_));
  }
  // About the table as a whole.
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidConfig(where_.substr(0, where_.find_last_not_of(".: ") + 1) + " " + why);
  }
  [[noreturn]] void refuse_value(const std::string& key, const std::string& want) const {
    throw InvalidConfig(name(key) + " wants " + want);
  }

 private:
  std::vector<toml::value> list(const std::string& key) {
    const toml::value* v = find(key);
    if (v == nullptr) return {};
    if (v->is_array()) return v->as_array();
    return {*v};
  }
  double to_number(const toml::value& v, const std::string& key) const {
    if (v.is_floating()) return v.as_floating();
    if (v.is_integer()) return static_cast<double>(v.as_integer());
    refuse_value(key, "a number");
  }
  int to_integer(const toml::value& v, const std::string& key) const {
    if (!v.is_integer() || v.as_integer() < 0 || v.as_integer() > 1'000'000)
      refuse_value(key, "a whole number from 0 to 1000000");
    return static_cast<int>(v.as_integer());
  }

  std::string where_;
  const toml::table* table_ = nullptr;
  std::vector<std::string> asked_;
};

// "a.toml:3 is not TOML: an invalid key appeared", and below it the line with a mark under the place. The parser's own
// text is a drawing: what is wrong behind the name of one of its functions, the file, and pairs of a line and its mark, of
// which the last is the place.
//   [error] toml::parse_key_value_pair: missing value after key-value separator '='
//    --> a.toml
//      |
//    1 | workers =
//      |           ^--- expected value, but got nothing
inline std::string describe(const toml::syntax_error& error, const std::filesystem::path& file) {
  std::istringstream drawing(error.what());
  std::string what;
  std::getline(drawing, what);
  if (const auto end = what.find(": "); what.starts_with("[error] toml::") && end != std::string::npos)
    what.erase(0, end + 2);
  if (what.ends_with('.')) what.pop_back();
  std::string source = error.location().line_str();
  std::string mark = "^";
  std::string before;
  for (std::string line; std::getline(drawing, line); before = line) {
    const auto bar = line.find("| ");
    const auto at = line.find_first_not_of(" |");
    if (bar == std::string::npos || at == std::string::npos || (line[at] != '^' && line[at] != '~')) continue;
    mark = line.substr(bar + 2);
    source = before.size() > bar + 2 ? before.substr(bar + 2) : "";
  }
  return file.string() + ":" + std::to_string(error.location().line()) + " is not TOML: " + what + "\n  " +
         shown(source) + "\n  " + shown(mark);
}

// `kind` is what messages call the file, `example` the path of a good one.
inline toml::value parse_toml(const std::filesystem::path& file, const std::string& kind,
                              const std::string& example) {
  if (const std::error_code error = reading_error(file))
    throw InvalidConfig("the " + kind + " " + unreadable(file, error) + "; give the path of one, such as " +
                        example);
  std::ifstream in(file);
  std::istringstream text(read_toml_text(in, "the " + kind + " " + file.string()));
  try {
    return toml::parse(text, file.string());
  } catch (const toml::syntax_error& error) {
    throw InvalidConfig("the " + kind + " " + describe(error, file));
  }
}

}  // namespace tacit::sim
