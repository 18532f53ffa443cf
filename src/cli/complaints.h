// SPDX-License-Identifier: MIT
// What is wrong with a command line, in words that say what to write instead. CLI11's own words do not.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tacit::cli {

// The sub-command that was being parsed, or the program itself.
const CLI::App& innermost(const CLI::App& app);

// Whether it takes no value.
bool is_switch(const CLI::Option& option);

// "--workers", "-n" of every option that is not hidden.
std::vector<std::string> option_names(const CLI::App& app);
// Those that are not hidden.
std::vector<std::string> command_names(const CLI::App& app);

// Nothing where there is no such command.
const CLI::App* command_named(const CLI::App& app, const std::string& name);

// Lets every option of the tree that is a number or a switch refuse, with InvalidConfig, what is none. CLI11 takes 010
// for 8, -1 for the largest seed and what is too large for the largest number.
void check_values(CLI::App& app);

// One sentence, for an error that is not a call for help.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

// The sentence with "; see tacit train --help", or "See ..." where it is a question.
std::string with_help(const std::string& sentence, const CLI::App& at);

}  // namespace tacit::cli
