// SPDX-License-Identifier: MIT
// Tables whose lines are all known before the first is printed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/layout.h"

namespace tacit::cli {

using Cells = std::vector<std::string>;

constexpr std::size_t kNoteIndent = 2;  // of what goes on below a note

// Which columns are printed first where there is no room for all beside each other.
struct ColumnOrder {
  std::size_t keys = 1;               // the first so many say which line it is, and are in every table
  std::vector<std::size_t> behind{};  // the others by their places; empty: as they are
};

// The first column to the left, the others to the right. The first line is the head; one that is shorter has nothing
// more to say. Where there are too few columns for all there is to say, it is said in several tables.
std::string table_text(const std::vector<Cells>& lines, const ColumnOrder& order,
                       std::size_t columns = kAnyWidth);

}  // namespace tacit::cli
