// SPDX-License-Identifier: MIT
#include "cli/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tacit/core/error.h"
#include "tacit/runlog/reader.h"

namespace tacit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::function<std::optional<double>(const Outcome&)>;

// Over the runs of a line: their mean, and how far the farthest is from it.
struct Spread {
  double mean = 0;
  double most = 0;
};

// Nothing where one of the runs has no such value.
std::optional<Spread> spread(const Row& row, const Value& value) {
  std::vector<double> all;
  for (const Outcome& o : row.outcomes) {
    const std::optional<double> one = o.error.empty() ? value(o) : std::nullopt;
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  Spread s;
  for (const double each : all) s.mean += each / static_cast<double>(all.size());
  for (const double each : all) s.most = std::max(s.most, std::abs(each - s.mean));
  return s;
}

std::optional<double> mean(const Row& row, const Value& value) {
  const auto s = spread(row, value);
  return s ? std::optional(s->mean) : std::nullopt;
}

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
Unit whole_percent(double) { return {0.01, "%", 0}; }

// "84.01 %", or with several seeds "84.01 ±0.23 %".
std::string text_of(const std::optional<Spread>& s, Unit (*unit)(double), bool several,
                    const char* absent = "-") {
  if (!s) return absent;
  const Unit u = unit(s->mean);
  const std::string value = fmt::format("{:.{}f}", s->mean / u.size, u.digits);
  return several ? fmt::format("{} ±{:.{}f} {}", value, s->most / u.size, u.digits, u.text)
                 : value + " " + u.text;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const Outcome& o) {
  return {{"seed", o.seed},
          {"error", o.error},
          {"step_seconds", o.step_seconds},
          {"seconds", o.seconds},
          {"target_seconds", optional_json(o.target_seconds)},
          {"accuracy", optional_json(o.accuracy)},
          {"bytes_per_worker", o.bytes_per_worker},
          {"waiting", o.waiting},
          {"trace_hash", o.trace_hash}};
}

double step_seconds(const Outcome& o) { return o.step_seconds; }
double seconds(const Outcome& o) { return o.seconds; }
std::optional<double> target_seconds(const Outcome& o) { return o.target_seconds; }
std::optional<double> accuracy(const Outcome& o) { return o.accuracy; }
double bytes(const Outcome& o) { return o.bytes_per_worker; }
double waiting(const Outcome& o) { return o.waiting; }

Json to_json(const Comparison& c) {
  Json rows = Json::array();
  for (const Row& row : c.rows) {
    Json runs = Json::array();
    for (const Outcome& o : row.outcomes) runs.push_back(to_json(o));
    rows.push_back({{"strategy", row.name},
                    {"workers", row.workers},
                    {"step_seconds", optional_json(mean(row, step_seconds))},
                    {"seconds", optional_json(mean(row, seconds))},
                    {"target_seconds", optional_json(mean(row, target_seconds))},
                    {"accuracy", optional_json(mean(row, accuracy))},
                    {"bytes_per_worker", optional_json(mean(row, bytes))},
                    {"waiting", optional_json(mean(row, waiting))},
                    {"speed_up", optional_json(row.speed_up)},
                    {"runs", runs}});
  }
  return {{"title", c.title}, {"target", optional_json(c.target)}, {"rows", rows}};
}

std::string json_text(const Comparison& c) {
  return to_json(c).dump(2, ' ', false, Json::error_handler_t::replace);
}

// Characters, not bytes: ± has two of these.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padding(const std::string& text, std::size_t to) {
  return std::string(to - std::min(to, width(text)), ' ');
}

std::vector<std::string> cells_of(const Row& row, bool with_workers, bool with_target) {
  std::vector<std::string> cells{row.name};
  if (with_workers) cells.push_back(std::to_string(row.workers));
  for (const Outcome& o : row.outcomes)
    if (!o.error.empty()) {
      cells.push_back("failed: " + o.error);
      return cells;
    }
  const bool several = row.outcomes.size() > 1;
  cells.push_back(text_of(spread(row, step_seconds), time_unit, several));
  cells.push_back(text_of(spread(row, seconds), time_unit, several));
  if (with_target) cells.push_back(text_of(spread(row, target_seconds), time_unit, several, "not reached"));
  cells.push_back(text_of(spread(row, accuracy), percent, several));
  cells.push_back(text_of(spread(row, bytes), bytes_unit, false));
  cells.push_back(text_of(spread(row, waiting), whole_percent, false));
  cells.push_back(row.speed_up ? fmt::format("{:.2f} x", *row.speed_up) : "-");
  return cells;
}

}  // namespace

Outcome read_outcome(std::uint64_t seed, const std::filesystem::path& out, std::optional<double> target) {
  const RunRecord run = read_run_log(out / "run.jsonl");
  if (!run.ended) return failed_outcome(seed, "its run log has no end");
  const Summary& s = *run.ended;
  Outcome o;
  o.seed = seed;
  o.seconds = s.seconds;
  o.step_seconds = s.steps > 0 ? s.seconds / static_cast<double>(s.steps) : 0;
  o.accuracy = s.accuracy;
  o.bytes_per_worker = static_cast<double>(s.bytes_wire) / s.workers;
  o.waiting = s.seconds > 0 ? s.wait_seconds.value_or(0) / s.seconds : 0;
  o.trace_hash = s.trace_hash;
  const auto reached = std::find_if(run.evaluations.begin(), run.evaluations.end(),
                                    [&](const Evaluated& e) { return target && e.accuracy >= *target; });
  if (reached != run.evaluations.end()) o.target_seconds = reached->seconds;
  return o;
}

Outcome failed_outcome(std::uint64_t seed, const std::string& why) {
  Outcome o;
  o.seed = seed;
  o.error = why;
  return o;
}

void set_speed_ups(std::span<Row> rows) {
  for (Row& row : rows) {
    const Row& first =
        *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.workers == row.workers; });
    const bool by_target = mean(first, target_seconds).has_value();
    const auto of = [&](const Row& r) { return by_target ? mean(r, target_seconds) : mean(r, seconds); };
    if (const auto base = of(first), own = of(row); base && own && *own > 0) row.speed_up = *base / *own;
  }
}

bool Comparison::good() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.outcomes.begin(), row.outcomes.end(),
                       [](const Outcome& o) { return o.error.empty(); });
  });
}

void Comparison::print() const {
  const bool with_workers =
      std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.workers != rows[0].workers; });
  std::vector<std::vector<std::string>> lines{{"strategy"}};
  if (with_workers) lines[0].push_back("workers");
  lines[0].insert(lines[0].end(), {"per step", "all steps"});
  if (target) lines[0].push_back(fmt::format("to {:.1f} %", 100 * *target));
  lines[0].insert(lines[0].end(), {"accuracy", "sent/worker", "waiting", "speed-up"});
  for (const Row& row : rows) lines.push_back(cells_of(row, with_workers, target.has_value()));
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      if (i == 0 || line.size() == widths.size()) widths[i] = std::max(widths[i], width(line[i]));
  for (const auto& line : lines) {
    std::string text = line[0] + padding(line[0], widths[0]);
    for (std::size_t i = 1; i < line.size(); ++i) text += "  " + padding(line[i], widths[i]) + line[i];
    fmt::print("{}\n", text);
  }
}

void Comparison::print_json() const { fmt::print("{}\n", json_text(*this)); }

void Comparison::write(const std::filesystem::path& file) const {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::ofstream out(file);
  out << json_text(*this) << "\n";
  if (!out.flush())
    throw InvalidConfig("cannot write " + file.string() + "; give --out a place you may write to");
}

}  // namespace tacit::cli
