// SPDX-License-Identifier: MIT
// Text for so many columns. A line that a terminal wraps by itself is hard to read, and one that it wraps while it is
// drawn again and again leaves rubbish behind.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacit::cli {

constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

// Characters, not bytes: ± has two of these.
std::size_t width_of(std::string_view text);

// Where it is too wide, its beginning with … as the last character.
std::string cut(std::string_view text, std::size_t columns);

// Broken between words into lines without a newline at the end; all but the first are indented. A word that is too wide
// for a line is broken too.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

struct LinePart {
  std::string text;
  int weight;  // the part with the least goes first, of two equal ones the later
};

// The parts with two spaces between them, less those for which there is no room.
std::string joined(std::vector<LinePart> parts, std::size_t columns);

struct Column {
  std::string head;
  std::size_t width;
  int weight;  // as above
};

// A table whose lines are known one after the other, so that the widths are given beforehand: the first column to the
// left, the others to the right. Columns for which there is no room are left out.
class FixedTable {
 public:
  FixedTable(std::vector<Column> columns, std::size_t room);

  std::string head() const;
  std::string row(
      std::span<const std::string> cells) const;  // one for each column, those left out among them

 private:
  std::vector<Column> columns_;
  std::vector<bool> shown_;
  std::size_t room_;
};

}  // namespace tacit::cli
