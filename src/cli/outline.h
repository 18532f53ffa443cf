// SPDX-License-Identifier: MIT
// The commands and options of the program as data: what completions and the man page are made from.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tacit::cli {

// What a shell can offer for a value.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};

struct OptionOutline {
  std::string name;                     // the long one, or that of an argument by place: "strategy"
  std::vector<std::string> long_names;  // all of them: "tls", "insecure-plaintext"
  std::string short_name;               // "n"
  std::string type;                     // "TEXT"; empty: it is a switch
  std::string fallback;
  std::string description;
  Values values{};
};

struct CommandOutline {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionOutline> options;
  std::vector<OptionOutline> places;  // arguments by place, in their order
};

// Of everything that is not hidden. The program itself comes first, without a name.
std::vector<CommandOutline> outline_of(const CLI::App& app);

}  // namespace tacit::cli
