// SPDX-License-Identifier: MIT
#include "cli/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tacit::cli {
namespace {

constexpr std::size_t kNoteIndent = 2;
constexpr std::size_t kShortestName = 8;

struct Unit {
  double size;
  const char* text;
  int digits;
};

Unit time_unit(double seconds) {
  if (seconds < 1e-3) return {1e-6, "us", 1};
  if (seconds < 1) return {1e-3, "ms", 1};
  return {1, "s", 2};
}
Unit bytes_unit(double bytes) {
  if (bytes >= 1e9) return {1e9, "GB", 2};
  if (bytes >= 1e6) return {1e6, "MB", 1};
  return {1e3, "kB", 1};
}
Unit percent(double) { return {0.01, "%", 2}; }

// "84.01 %", or with several seeds "84.01 ±0.23 %".
std::string text_of(const std::optional<Spread>& s, Unit (*unit)(double), bool several,
                    const char* absent = "-") {
  if (!s) return absent;
  const Unit u = unit(s->mean);
  const std::string value = fmt::format("{:.{}f}", s->mean / u.size, u.digits);
  return several ? fmt::format("{} ±{:.{}f} {}", value, s->most / u.size, u.digits, u.text)
                 : value + " " + u.text;
}

// "62/30/8 %"
std::string times_of(const Row& row) {
  const auto compute = spread(row, computing);
  const auto communicate = spread(row, communicating);
  const auto wait = spread(row, waiting);
  if (!compute || !communicate || !wait) return "-";
  return fmt::format("{:.0f}/{:.0f}/{:.0f} %", 100 * compute->mean, 100 * communicate->mean,
                     100 * wait->mean);
}

std::string padding(const std::string& text, std::size_t to) {
  return std::string(to - std::min(to, width_of(text)), ' ');
}

std::string speed_up_of(const Row& row) {
  const std::size_t diverged = row.count(RunStatus::kDiverged);
  if (diverged > 0 && row.outcomes.size() > 1) return fmt::format("{} diverged", diverged);
  if (diverged > 0) return "diverged";
  return row.speed_up ? fmt::format("{:.2f} x", *row.speed_up) : "-";
}

// Which columns a table has.
struct Columns {
  bool workers;
  std::optional<double> target;

  std::size_t keys() const { return workers ? 2 : 1; }  // that say which row it is
};

struct Heading {
  std::string text;
  bool decides = false;  // a choice is made by it
};

std::vector<Heading> headings_of(const Columns& columns) {
  std::vector<Heading> all{{"strategy"}};
  if (columns.workers) all.push_back({"workers"});
  all.insert(all.end(), {{"per step"}, {"all steps"}});
  if (columns.target) all.push_back({fmt::format("to {:.1f} %", 100 * *columns.target), true});
  all.insert(all.end(), {{"accuracy", true}, {"sent/worker"}, {"comp/comm/wait"}, {"speed-up", true}});
  return all;
}

using Cells = std::vector<std::string>;

Cells head_of(const Columns& columns) {
  Cells cells;
  for (const Heading& each : headings_of(columns)) cells.push_back(each.text);
  return cells;
}

// Of the columns behind the keys, where they are in several tables.
std::vector<std::size_t> order_of(const Columns& columns) {
  const std::vector<Heading> all = headings_of(columns);
  std::vector<std::size_t> order;
  for (const bool decides : {true, false})
    for (std::size_t i = columns.keys(); i < all.size(); ++i)
      if (all[i].decides == decides) order.push_back(i);
  return order;
}

Cells cells_of(const Row& row, const Columns& columns) {
  Cells cells{row.name};
  if (columns.workers) cells.push_back(std::to_string(row.workers));
  const bool none = std::none_of(row.outcomes.begin(), row.outcomes.end(),
                                 [](const Outcome& o) { return o.has_numbers(); });
  if (none) {
    cells.push_back(row.count(RunStatus::kFailed) > 0 ? "failed" : "missing");
    return cells;
  }
  const bool several = row.outcomes.size() > 1;
  cells.push_back(text_of(spread(row, step_seconds), time_unit, several));
  cells.push_back(text_of(spread(row, seconds), time_unit, several));
  if (columns.target)
    cells.push_back(text_of(spread(row, target_seconds), time_unit, several, "not reached"));
  cells.push_back(text_of(spread(row, accuracy), percent, several));
  cells.push_back(text_of(spread(row, bytes), bytes_unit, false));
  cells.push_back(times_of(row));
  cells.push_back(speed_up_of(row));
  return cells;
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
    std::string line = name + padding(name, widths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) line += "  " + padding(cells[i], widths[i]) + cells[i];
    text += cut(line, columns) + "\n";
  }
  return text;
}

// One table, if there is room for it, or several that have the same keys. A line without numbers is in the first.
std::string tables(const std::vector<Cells>& lines, const Columns& which, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(lines);
  if (sum_of(widths) <= columns) return aligned(lines, columns);
  // A name that takes more than half of a line is cut for the sake of what is said of it.
  const std::size_t keys = std::min(
      columns / 2, sum_of({widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(which.keys())}));
  std::vector<std::size_t> left = order_of(which);
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
      if (!whole && !text.empty()) continue;
      part.emplace_back(line.begin(),
                        line.begin() + static_cast<std::ptrdiff_t>(whole ? which.keys() : line.size()));
      for (std::size_t i = 0; whole && i < taken; ++i) part.back().push_back(line[left[i]]);
    }
    text += (text.empty() ? "" : "\n") + aligned(part, columns);
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return text;
}

std::string name_of(const Row& row, bool with_workers) {
  return row.name + (with_workers ? fmt::format(", {} workers", row.workers) : "");
}

// "ssd, 8 workers, seed 3 diverged: the loss rose ..."
std::vector<std::string> bad_runs(const Row& row, bool with_workers) {
  std::vector<std::string> lines;
  for (const Outcome& o : row.outcomes) {
    if (o.status != RunStatus::kDiverged && o.status != RunStatus::kFailed) continue;
    const std::string seed = row.outcomes.size() > 1 ? fmt::format(", seed {}", o.seed) : "";
    lines.push_back(fmt::format("{}{} {}: {}", name_of(row, with_workers), seed,
                                o.status == RunStatus::kDiverged ? "diverged" : "failed", o.error));
  }
  return lines;
}

// "ssd, 8 workers is missing with seeds 3, 4"
std::string missing_runs(const Row& row, bool with_workers) {
  std::string seeds;
  for (const Outcome& o : row.outcomes)
    if (o.status == RunStatus::kMissing) seeds += (seeds.empty() ? "" : ", ") + std::to_string(o.seed);
  if (seeds.empty()) return "";
  const bool one = row.count(RunStatus::kMissing) == 1;
  const std::string with =
      row.outcomes.size() > 1 ? fmt::format(" with seed{} {}", one ? "" : "s", seeds) : "";
  return fmt::format("{} is missing{}", name_of(row, with_workers), with);
}

}  // namespace

std::optional<Spread> spread(const Row& row, const Value& value) {
  std::vector<double> all;
  for (const Outcome& o : row.outcomes) {
    if (!o.has_numbers()) continue;
    const std::optional<double> one = value(o);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  if (all.empty()) return std::nullopt;
  Spread s;
  for (const double each : all) s.mean += each / static_cast<double>(all.size());
  for (const double each : all) s.most = std::max(s.most, std::abs(each - s.mean));
  return s;
}

std::string table_of(const Comparison& c, std::size_t columns) {
  const bool with_workers =
      std::any_of(c.rows.begin(), c.rows.end(), [&](const Row& r) { return r.workers != c.rows[0].workers; });
  const Columns which{with_workers, c.target};
  std::vector<Cells> lines{head_of(which)};
  for (const Row& row : c.rows) lines.push_back(cells_of(row, which));
  std::string text = tables(lines, which, columns);
  const auto note = [&](const std::string& line) { text += wrapped(line, columns, kNoteIndent) + "\n"; };
  for (const Row& row : c.rows) {
    for (const std::string& line : bad_runs(row, with_workers)) note(line);
    if (const std::string line = missing_runs(row, with_workers); !line.empty()) note(line);
  }
  if (!c.target && !c.cost_only)
    note("No speed-ups: strategies are compared at equal accuracy, which --target gives.");
  return text;
}

}  // namespace tacit::cli
