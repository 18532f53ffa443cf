// SPDX-License-Identifier: MIT
#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

#include "cli/complaints.h"
#include "core/files.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "--config";
constexpr std::string_view kBlank = " \t\r";

// Whether the word is an option whose value is the next one: --ranks and -n, not --ranks=4 and -n4.
bool takes_next(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && !is_switch(*option);
}

bool is_given(const CLI::Option& option, const Words& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return option.check_name(word.substr(0, word.find('='))) ||
           (option.check_name(word.substr(0, 2)) && word[1] != '-');
  });
}

bool is_excluded(const CLI::Option& option, const Words& words) {
  const std::set<CLI::Option*> others = option.get_excludes();
  return std::any_of(others.begin(), others.end(),
                     [&](const CLI::Option* each) { return is_given(*each, words); });
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

// A line of `option = value`, as TOML has them: a text stands in quotes or as it is, `#` begins a remark.
struct ConfigLine {
  std::string key;
  std::string value;
};

std::optional<ConfigLine> setting_from(std::string_view line, const std::string& where) {
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  const auto equals = line.find('=');
  const auto refuse = [&](const char* why) -> ConfigLine {
    throw InvalidConfig(fmt::format("{}: '{}' {}", where, shown(line), why));
  };
  if (line.front() == '[') return refuse("begins a section; a config file has lines of option = value alone");
  if (equals == std::string_view::npos || equals == 0) return refuse("is no setting; write option = value");
  const std::string_view key = trimmed(line.substr(0, equals));
  std::string_view value = trimmed(line.substr(equals + 1));
  if (value.starts_with('"') || value.starts_with('\'')) {
    const auto end = value.find(value.front(), 1);
    if (end == std::string_view::npos)
      return refuse("has a quote that does not end; write option = \"value\"");
    const std::string_view rest = trimmed(value.substr(end + 1));
    if (!rest.empty() && rest.front() != '#')
      return refuse("goes on after its value; write option = \"value\"");
    value = value.substr(1, end - 1);
  } else {
    value = trimmed(value.substr(0, value.find('#')));
    if (value.empty()) return refuse("has no value; write option = value");
  }
  return ConfigLine{std::string(key), std::string(value)};
}

// `--config FILE` or `--config=FILE`; nothing where it is not there or has no value, which the parser will say.
std::optional<fs::path> config_of(const Words& words) {
  const std::string with_equals = std::string(kConfig) + "=";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kConfig && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(with_equals)) return words[i].substr(with_equals.size());
  }
  return std::nullopt;
}

// `evaluate_every` and `evaluate-every` are --evaluate-every.
std::string word_for(const std::string& key) {
  std::string word = "--" + key;
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

const CLI::Option& option_named(const CLI::App& command, const std::string& key, const std::string& where) {
  const std::string name = word_for(key);
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option != nullptr && option != command.get_help_ptr() && name != kConfig) return *option;
  std::vector<std::string> known;
  for (const std::string& each : option_names(command))
    if (each.starts_with("--") && each != "--help" && each != kConfig) known.push_back(each.substr(2));
  throw InvalidConfig(
      fmt::format("{}: {}", where, unknown_name("option of tacit " + command.get_name(), key, known)));
}

}  // namespace

Words take_command(const CLI::App& launch, Words& words) {
  if (words.empty() || words.front() != launch.get_name()) return {};
  auto at = words.begin() + 1;
  while (at != words.end() && *at != "--" && at->starts_with("-")) {
    const bool two = takes_next(launch, *at) && at + 1 != words.end();
    at += two ? 2 : 1;
  }
  Words command(at != words.end() && *at == "--" ? at + 1 : at, words.end());
  words.erase(at, words.end());
  return command;
}

void add_config_option(CLI::App& command) {
  command.add_option_function<std::string>(
      kConfig, [](const std::string&) {},  // apply_config has read it
      "File with lines of option = value, such as workers = 4; what is written here wins");
}

Places apply_config(const CLI::App& app, Words& words) {
  const CLI::App* command = words.empty() ? nullptr : command_named(app, words.front());
  if (command == nullptr || command->get_option_no_throw(kConfig) == nullptr) return {};
  const std::optional<fs::path> file = config_of(words);
  if (!file) return {};
  if (const std::error_code error = reading_error(*file))
    throw InvalidConfig(fmt::format("the config file {}; give --config a file with lines of option = value",
                                    unreadable(*file, error)));
  const Words on_the_line = words;
  Places lines;   // of all options in the file
  Places places;  // of those that count
  std::ifstream in(*file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string where = fmt::format("{}:{}", file->string(), number);
    const std::optional<ConfigLine> setting = setting_from(line, where);
    if (!setting) continue;
    const CLI::Option& option = option_named(*command, setting->key, where);
    const std::string word = word_for(setting->key);
    if (!lines.emplace(word, where).second)
      throw InvalidConfig(
          fmt::format("{}: {} is in {} already; keep one of them", where, setting->key, lines[word]));
    if (is_given(option, on_the_line) || is_excluded(option, on_the_line)) continue;
    places.emplace(word, where);
    if (is_switch(option)) {
      words.push_back(word + "=" + setting->value);
    } else {
      words.insert(words.end(), {word, setting->value});
    }
  }
  return places;
}

}  // namespace tacit::cli
