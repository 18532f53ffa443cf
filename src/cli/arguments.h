// SPDX-License-Identifier: MIT
// The words of a command line before they are parsed: what `launch` starts is taken off, what --config names is put in.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace tacit::cli {

using Words = std::vector<std::string>;

// What `launch` starts is not for this program to parse: takes `--` and everything after it, or everything from the first
// word on that is neither an option nor its value, off the line.
Words take_command(const CLI::App& launch, Words& words);

// Adds --config to a command.
void add_config_option(CLI::App& command);

// Lines of `option = value` and where each stands, by the option's name ("--workers", "runs/a.toml:3").
using Places = std::map<std::string, std::string>;

// Reads the file that --config names and appends its options to the words, without those that are there already and
// those that exclude one that is there: what the user wrote on the line wins. Throws InvalidConfig, with the file and the
// line, for what is no option of the command. Returns where each appended option stands.
Places apply_config(const CLI::App& app, Words& words);

}  // namespace tacit::cli
