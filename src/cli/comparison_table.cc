// SPDX-License-Identifier: MIT
#include "cli/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tacit::cli {
namespace {

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

// Characters, not bytes: ± has two of these.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padding(const std::string& text, std::size_t to) {
  return std::string(to - std::min(to, width(text)), ' ');
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
};

std::vector<std::string> head_of(const Columns& columns) {
  std::vector<std::string> cells{"strategy"};
  if (columns.workers) cells.push_back("workers");
  cells.insert(cells.end(), {"per step", "all steps"});
  if (columns.target) cells.push_back(fmt::format("to {:.1f} %", 100 * *columns.target));
  cells.insert(cells.end(), {"accuracy", "sent/worker", "comp/comm/wait", "speed-up"});
  return cells;
}

std::vector<std::string> cells_of(const Row& row, const Columns& columns) {
  std::vector<std::string> cells{row.name};
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

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      if (i == 0 || line.size() == widths.size()) widths[i] = std::max(widths[i], width(line[i]));
  std::string text;
  for (const auto& line : lines) {
    text += line[0] + padding(line[0], widths[0]);
    for (std::size_t i = 1; i < line.size(); ++i) text += "  " + padding(line[i], widths[i]) + line[i];
    text += "\n";
  }
  return text;
}

std::string name_of(const Row& row, bool with_workers) {
  return row.name + (with_workers ? fmt::format(", {} workers", row.workers) : "");
}

// "ssd, 8 workers, seed 3 diverged: the loss rose ..."
std::string bad_runs(const Row& row, bool with_workers) {
  std::string text;
  for (const Outcome& o : row.outcomes) {
    if (o.status != RunStatus::kDiverged && o.status != RunStatus::kFailed) continue;
    const std::string seed = row.outcomes.size() > 1 ? fmt::format(", seed {}", o.seed) : "";
    text += fmt::format("{}{} {}: {}\n", name_of(row, with_workers), seed,
                        o.status == RunStatus::kDiverged ? "diverged" : "failed", o.error);
  }
  return text;
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
  return fmt::format("{} is missing{}\n", name_of(row, with_workers), with);
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

std::string table_of(const Comparison& c) {
  const bool with_workers =
      std::any_of(c.rows.begin(), c.rows.end(), [&](const Row& r) { return r.workers != c.rows[0].workers; });
  const Columns columns{with_workers, c.target};
  std::vector<std::vector<std::string>> lines{head_of(columns)};
  for (const Row& row : c.rows) lines.push_back(cells_of(row, columns));
  std::string text = aligned(lines);
  for (const Row& row : c.rows) text += bad_runs(row, with_workers) + missing_runs(row, with_workers);
  if (!c.target && !c.cost_only)
    text += "No speed-ups: strategies are compared at equal accuracy, which --target gives.\n";
  return text;
}

}  // namespace tacit::cli
