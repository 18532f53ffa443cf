// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace tacit::sim {

// How deep arrays and tables may stand in each other. The parser calls itself for each, and a stack has an end.
constexpr int kDeepestToml = 64;

// The text of a file that the parser can be given. `what` is how messages call the file. Throws InvalidConfig for one
// that is larger than any cluster or experiment, or nested deeper than kDeepestToml.
std::string read_toml_text(std::istream& in, const std::string& what);

// The line where a text is nested too deeply; 0: nowhere. Brackets and dots in texts and comments do not count.
int line_too_deep(std::string_view toml);

}  // namespace tacit::sim
