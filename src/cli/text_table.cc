// SPDX-License-Identifier: MIT
#include "cli/text_table.h"

#include <algorithm>

namespace tacit::cli {
namespace {

constexpr std::size_t kShortestName = 8;

std::string blanks_before(const std::string& text, std::size_t to) {
  return std::string(to - std::min(to, width_of(text)), ' ');
}

std::vector<std::size_t> widths_of(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines[0].size());
  for (const Cells& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      if (i == 0 || line.size() == widths.size()) widths[i] = std::max(widths[i], width_of(line[i]));
  return widths;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t each : widths) sum += (sum > 0 ? 2 : 0) + each;
  return sum;
}

std::string aligned(const std::vector<Cells>& lines, std::size_t columns) {
  std::vector<std::size_t> widths = widths_of(lines);
  const std::size_t numbers = sum_of(widths) - widths[0];
  if (sum_of(widths) > columns) widths[0] = std::max(kShortestName, columns - std::min(columns, numbers));
  std::string text;
  for (const Cells& cells : lines) {
    const std::string name = cut(cells[0], widths[0]);
    std::string line = name + blanks_before(name, widths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i)
      line += "  " + blanks_before(cells[i], widths[i]) + cells[i];
    text += cut(line, columns) + "\n";
  }
  return text;
}

// As they are, unless something else is said.
std::vector<std::size_t> columns_behind(const ColumnOrder& order, std::size_t all) {
  if (!order.behind.empty()) return order.behind;
  std::vector<std::size_t> places;
  for (std::size_t i = order.keys; i < all; ++i) places.push_back(i);
  return places;
}

}  // namespace

std::string table_text(const std::vector<Cells>& lines, const ColumnOrder& order, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(lines);
  if (sum_of(widths) <= columns) return aligned(lines, columns);
  // A name that takes more than half of a line is cut for the sake of what is said of it.
  const std::size_t keys = std::min(
      columns / 2, sum_of({widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(order.keys)}));
  std::vector<std::size_t> left = columns_behind(order, widths.size());
  std::string text;
  while (!left.empty()) {
    std::size_t taken = 0;
    for (std::size_t width = keys; taken < left.size(); ++taken) {
      width += 2 + widths[left[taken]];
      if (taken > 0 && width > columns) break;
    }
    std::vector<Cells> part;
    for (const Cells& line : lines) {
      const bool whole = line.size() == widths.size();
      if (!whole && !text.empty()) continue;  // it is in the first
      part.emplace_back(line.begin(),
                        line.begin() + static_cast<std::ptrdiff_t>(whole ? order.keys : line.size()));
      for (std::size_t i = 0; whole && i < taken; ++i) part.back().push_back(line[left[i]]);
    }
    text += (text.empty() ? "" : "\n") + aligned(part, columns);
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return text;
}

}  // namespace tacit::cli
