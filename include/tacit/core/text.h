// SPDX-License-Identifier: MIT
// Names and numbers as users type them, and what others wrote as users see it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacit {

// `-` and `_` are the same in every name of a strategy, compressor, model, data set or option; this is
// the form they are compared in.
std::string canonical(std::string_view name);

// The known name nearest to a mistyped one, or an empty string where nothing is near.
std::string nearest(std::string_view name, std::span<const std::string> known);

// "unknown model 'cnm'; did you mean 'cnn'? Known: cnn, mlp"
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

// A number as a spec has it, in the fewest digits that read back give the same double.
std::string exact(double value);

// A text that somebody else wrote, for a terminal, a log or JSON: one line of UTF-8, in which control characters, those
// that change the direction of writing, and bytes that are no UTF-8 stand as \x1b. Shown twice, it is the same.
std::string shown(std::string_view text);

}  // namespace tacit
