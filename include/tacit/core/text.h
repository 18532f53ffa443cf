// SPDX-License-Identifier: MIT
// Names and numbers as users type them.
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

// A number as a spec has it: read back, it is the same double.
std::string exact(double value);

}  // namespace tacit
