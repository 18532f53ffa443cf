// SPDX-License-Identifier: MIT
#include "cli/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/text_table.h"

namespace tacit::cli {
namespace {

// A difference of less than a point is believed of so many seeds: the interval of a few is right on average, but luck in
// their deviation makes it narrow.
constexpr double kSmall = 0.01;
constexpr std::size_t kSeedsForSmall = 8;

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

// "84.01 %", or of several runs "84.01 ±0.23 %".
std::string text_of(const std::optional<Sample>& s, Unit (*unit)(double), const char* absent = "-") {
  if (!s) return absent;
  const Unit u = unit(s->mean);
  const std::string value = fmt::format("{:.{}f}", s->mean / u.size, u.digits);
  return s->deviation ? fmt::format("{} ±{:.{}f} {}", value, *s->deviation / u.size, u.digits, u.text)
                      : value + " " + u.text;
}

// Seeds hardly change it.
std::string bytes_text_of(const Row& row) {
  std::optional<Sample> s = sample_of(row, bytes);
  if (s) s->deviation.reset();
  return text_of(s, bytes_unit);
}

// "62/30/8 %"
std::string times_of(const Row& row) {
  const auto compute = sample_of(row, computing);
  const auto communicate = sample_of(row, communicating);
  const auto wait = sample_of(row, waiting);
  if (!compute || !communicate || !wait) return "-";
  return fmt::format("{:.0f}/{:.0f}/{:.0f} %", 100 * compute->mean, 100 * communicate->mean,
                     100 * wait->mean);
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

Cells head_of(const Columns& columns) {
  Cells cells;
  for (const Heading& each : headings_of(columns)) cells.push_back(each.text);
  return cells;
}

// Where they are in several tables.
ColumnOrder order_of(const Columns& columns) {
  const std::vector<Heading> all = headings_of(columns);
  ColumnOrder order{columns.keys()};
  for (const bool decides : {true, false})
    for (std::size_t i = columns.keys(); i < all.size(); ++i)
      if (all[i].decides == decides) order.behind.push_back(i);
  return order;
}

bool has_numbers(const Row& row) {
  return std::any_of(row.outcomes.begin(), row.outcomes.end(),
                     [](const Outcome& o) { return o.has_numbers(); });
}

Cells keys_of(const Row& row, bool with_workers) {
  Cells cells{row.name};
  if (with_workers) cells.push_back(std::to_string(row.workers));
  return cells;
}

Cells cells_of(const Row& row, const Columns& columns) {
  Cells cells = keys_of(row, columns.workers);
  if (!has_numbers(row)) {
    cells.push_back(row.count(RunStatus::kFailed) > 0 ? "failed" : "missing");
    return cells;
  }
  cells.push_back(text_of(sample_of(row, step_seconds), time_unit));
  cells.push_back(text_of(sample_of(row, seconds), time_unit));
  if (columns.target) cells.push_back(text_of(sample_of(row, target_seconds), time_unit, "not reached"));
  cells.push_back(accuracy_text(sample_of(row, accuracy)));
  cells.push_back(bytes_text_of(row));
  cells.push_back(times_of(row));
  cells.push_back(speed_up_of(row));
  return cells;
}

std::string name_of(const Row& row, bool with_workers) {
  return row.name + (with_workers ? fmt::format(", {} workers", row.workers) : "");
}

std::string verdict_of(const std::optional<PairedDifference>& d) {
  if (!d) return "-";
  const auto chance = d->may_be_chance();
  if (!chance) return "one seed";
  if (*chance) return "may be chance";
  if (std::abs(d->sample.mean) < kSmall && d->sample.n < kSeedsForSmall) return "needs 8 seeds";
  return d->sample.mean > 0 ? "more accurate" : "less accurate";
}

// Of all rows but those that the others are held against; empty where there are no others, or one seed.
std::string differences(const Comparison& c, bool with_workers, std::size_t columns) {
  std::vector<Cells> lines{{"strategy"}};
  if (with_workers) lines[0].push_back("workers");
  lines[0].insert(lines[0].end(), {"seeds", "difference", "95 % interval", "verdict"});
  bool several = false;
  for (const Row& row : c.rows) {
    several = several || row.outcomes.size() > 1;
    const Row& first = c.first_of(row);
    if (&first == &row) continue;
    const auto d = accuracy_difference(row, first);
    lines.push_back(keys_of(row, with_workers));
    lines.back().insert(lines.back().end(), {d ? std::to_string(d->sample.n) : "-", points_text(d),
                                             interval_text(d), verdict_of(d)});
  }
  if (!several || c.cost_only || lines.size() == 1) return "";
  const std::string against = with_workers ? "the first line with as many workers" : c.rows[0].name;
  const std::string title = "Accuracy against " + against + ", seed by seed, in points:";
  return "\n" + wrapped(title, columns, kNoteIndent) + "\n" +
         table_text(lines, {with_workers ? std::size_t{2} : std::size_t{1}}, columns);
}

// What the numbers are, and what they cannot show.
std::vector<std::string> remarks_on(const Comparison& c) {
  std::vector<std::string> lines;
  std::size_t seeds = 0;
  for (const Row& row : c.rows) seeds = std::max(seeds, row.outcomes.size());
  if (seeds > 1) lines.push_back(fmt::format("± is the sample standard deviation over {} seeds.", seeds));
  if (!c.target && !c.cost_only)
    lines.emplace_back("No speed-ups: strategies are compared at equal accuracy, which --target gives.");
  if (seeds == 1 && c.rows.size() > 1 && !c.cost_only)
    lines.emplace_back("One seed: any difference in accuracy may be chance; --seeds 1,2,3 says how much is.");
  return lines;
}

}  // namespace

std::optional<Sample> sample_of(const Row& row, const Value& value) {
  std::vector<double> all;
  for (const Outcome& o : row.outcomes) {
    if (!o.has_numbers()) continue;
    const std::optional<double> one = value(o);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  if (all.empty()) return std::nullopt;
  return sample_of(all);
}

std::optional<PairedDifference> accuracy_difference(const Row& row, const Row& other) {
  if (!sample_of(row, accuracy) || !sample_of(other, accuracy)) return std::nullopt;
  std::vector<double> values;
  std::vector<double> others;
  for (const Outcome& o : row.outcomes)
    for (const Outcome& p : other.outcomes)
      if (o.seed == p.seed && o.has_numbers() && p.has_numbers()) {
        values.push_back(*o.accuracy);
        others.push_back(*p.accuracy);
      }
  if (values.empty()) return std::nullopt;
  return paired_difference(values, others);
}

std::string accuracy_text(const std::optional<Sample>& sample) { return text_of(sample, percent); }

std::string points_text(const std::optional<PairedDifference>& d) {
  return d ? fmt::format("{:+.2f}", 100 * d->sample.mean) : "-";
}

std::string interval_text(const std::optional<PairedDifference>& d) {
  if (!d || !d->interval) return "-";
  return fmt::format("{:+.2f} to {:+.2f}", 100 * d->interval->low, 100 * d->interval->high);
}

std::vector<std::string> bad_runs(const Row& row, RunStatus status, bool with_workers) {
  std::vector<std::string> lines;
  for (const Outcome& o : row.outcomes) {
    if (o.status != status) continue;
    const std::string seed = row.outcomes.size() > 1 ? fmt::format(", seed {}", o.seed) : "";
    lines.push_back(fmt::format("{}{} {}: {}", name_of(row, with_workers), seed,
                                status == RunStatus::kDiverged ? "diverged" : "failed", o.error));
  }
  return lines;
}

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

std::string table_of(const Comparison& c, std::size_t columns) {
  const bool with_workers =
      std::any_of(c.rows.begin(), c.rows.end(), [&](const Row& r) { return r.workers != c.rows[0].workers; });
  const Columns which{with_workers, c.target};
  std::vector<Cells> lines{head_of(which)};
  for (const Row& row : c.rows) lines.push_back(cells_of(row, which));
  std::string text = table_text(lines, order_of(which), columns);
  const auto note = [&](const std::string& line) { text += wrapped(line, columns, kNoteIndent) + "\n"; };
  for (const Row& row : c.rows) {
    for (const RunStatus status : {RunStatus::kDiverged, RunStatus::kFailed})
      for (const std::string& line : bad_runs(row, status, with_workers)) note(line);
    if (const std::string line = missing_runs(row, with_workers); !line.empty()) note(line);
  }
  for (const std::string& line : remarks_on(c)) note(line);
  return text + differences(c, with_workers, columns);
}

}  // namespace tacit::cli
