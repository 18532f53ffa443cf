// SPDX-License-Identifier: MIT
#include "cli/layout.h"

#include <algorithm>

namespace tacit::cli {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// So many characters of it.
std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  while (end < text.size() && (count > 0 || !begins_character(text[end])))
    if (begins_character(text[end++])) --count;
  return text.substr(0, end);
}

// The lightest of those that are shown; of two equal ones the later.
template <class Items>
std::size_t lightest(const Items& items, const std::vector<bool>& shown) {
  std::size_t found = items.size();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (shown[i] && (found == items.size() || items[i].weight <= items[found].weight)) found = i;
  return found;
}

std::string padding(std::string_view text, std::size_t to) {
  return std::string(to - std::min(to, width_of(text)), ' ');
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(first_characters(text, columns - 1)) + "…";
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  columns = std::max<std::size_t>(columns, 2);
  indent = std::min(indent, columns / 2);
  std::string lines;
  for (std::size_t room = columns; width_of(text) > room; room = columns - indent) {
    std::string_view line = first_characters(text, room);
    // The space may be the first character for which there is no room. Without one the word is broken.
    const std::size_t space = text.substr(0, line.size() + 1).rfind(' ');
    const std::size_t word = text.find_first_not_of(' ');
    if (space != std::string_view::npos && word < space) line = text.substr(0, space);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    lines += std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n" + std::string(indent, ' ');
  }
  return lines + std::string(text);
}

std::string joined(std::vector<LinePart> parts, std::size_t columns) {
  std::erase_if(parts, [](const LinePart& part) { return part.text.empty(); });
  for (;;) {
    std::string line;
    for (const LinePart& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    if (width_of(line) <= columns || parts.size() < 2) return cut(line, columns);
    const std::vector<bool> all(parts.size(), true);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(lightest(parts, all)));
  }
}

FixedTable::FixedTable(std::vector<Column> columns, std::size_t room)
    : columns_(std::move(columns)), shown_(columns_.size(), true), room_(room) {
  std::size_t width = columns_.size() - 1;
  for (const Column& each : columns_) width += each.width;
  for (std::size_t left = columns_.size(); width > room && left > 1; --left) {
    const std::size_t out = lightest(columns_, shown_);
    shown_[out] = false;
    width -= columns_[out].width + 1;
  }
}

std::string FixedTable::head() const {
  std::vector<std::string> cells;
  for (const Column& each : columns_) cells.push_back(each.head);
  return row(cells);
}

std::string FixedTable::row(std::span<const std::string> cells) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!shown_[i]) continue;
    const std::string space = padding(cells[i], columns_[i].width);
    line += (line.empty() ? "" : " ") + (i == 0 ? cells[i] + space : space + cells[i]);
  }
  return cut(line, room_);
}

}  // namespace tacit::cli
