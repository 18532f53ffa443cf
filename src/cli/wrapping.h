// SPDX-License-Identifier: MIT
// Text for a page of so many columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tacit::cli {

// Columns of the terminal that stdout is; 80 where it is none, and 40 at least.
std::size_t page_width();

// The words of a text in lines of at most `width` columns; the first begins with `first`, the others with as many blanks.
// A word that is longer than a line has one for itself. Ends with a newline.
std::string wrapped(const std::string& first, std::string_view text, std::size_t width);

}  // namespace tacit::cli
