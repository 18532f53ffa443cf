// SPDX-License-Identifier: MIT
#include "cli/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tacit/core/error.h"
#include "tacit/runlog/reader.h"

namespace tacit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} kB", bytes / 1e3);
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(std::span<const Outcome> outcomes, std::optional<double> target) {
  Json runs = Json::array();
  for (const Outcome& o : outcomes)
    runs.push_back({{"strategy", o.strategy},
                    {"error", o.error},
                    {"step_seconds", o.step_seconds},
                    {"seconds", o.seconds},
                    {"target_seconds", optional_json(o.target_seconds)},
                    {"accuracy", optional_json(o.accuracy)},
                    {"bytes_per_worker", o.bytes_per_worker},
                    {"waiting", o.waiting},
                    {"speed_up", optional_json(o.speed_up)},
                    {"trace_hash", o.trace_hash}});
  return {{"target", optional_json(target)}, {"runs", runs}};
}

std::vector<std::string> row_of(const Outcome& o, bool with_target) {
  if (!o.error.empty()) return {o.strategy, "failed: " + o.error};
  std::vector<std::string> row{o.strategy, time_text(o.step_seconds), time_text(o.seconds)};
  if (with_target) row.push_back(o.target_seconds ? time_text(*o.target_seconds) : "not reached");
  row.push_back(o.accuracy ? fmt::format("{:.2f} %", 100 * *o.accuracy) : "-");
  row.push_back(bytes_text(o.bytes_per_worker));
  row.push_back(fmt::format("{:.0f} %", 100 * o.waiting));
  row.push_back(o.speed_up ? fmt::format("{:.2f} x", *o.speed_up) : "-");
  return row;
}

}  // namespace

std::vector<std::string> split_strategies(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    const bool goes_on = piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
    if (goes_on && !all.empty()) {
      all.back() += "," + piece;
    } else {
      all.push_back(piece);
    }
  }
  if (all.empty()) throw InvalidConfig("--strategies is empty; name some, such as ssgd,local:period=8");
  return all;
}

Outcome read_outcome(const std::string& strategy, const std::filesystem::path& out,
                     std::optional<double> target) {
  const RunRecord run = read_run_log(out / "run.jsonl");
  if (!run.ended) return failed_outcome(strategy, "its run log has no end");
  const Summary& s = *run.ended;
  Outcome o;
  o.strategy = strategy;
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

Outcome failed_outcome(const std::string& strategy, const std::string& why) {
  Outcome o;
  o.strategy = strategy;
  o.error = why;
  return o;
}

void set_speed_ups(std::span<Outcome> outcomes) {
  if (outcomes.empty() || !outcomes.front().error.empty()) return;
  const Outcome first = outcomes.front();
  for (Outcome& o : outcomes) {
    if (!o.error.empty()) continue;
    if (first.target_seconds) {
      if (o.target_seconds && *o.target_seconds > 0) o.speed_up = *first.target_seconds / *o.target_seconds;
    } else if (o.seconds > 0) {
      o.speed_up = first.seconds / o.seconds;
    }
  }
}

void print_comparison(std::span<const Outcome> outcomes, std::optional<double> target) {
  std::vector<std::vector<std::string>> rows{{"strategy", "per step", "all steps"}};
  if (target) rows[0].push_back(fmt::format("to {:.1f} %", 100 * *target));
  rows[0].insert(rows[0].end(), {"accuracy", "sent/worker", "waiting", "speed-up"});
  for (const Outcome& o : outcomes) rows.push_back(row_of(o, target.has_value()));
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; row.size() == widths.size() && i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Outcome& o : outcomes) widths[0] = std::max(widths[0], o.strategy.size());
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i)
      line += row.size() == widths.size() ? fmt::format("  {:>{}}", row[i], widths[i]) : "  " + row[i];
    fmt::print("{}\n", line);
  }
}

void print_comparison_json(std::span<const Outcome> outcomes, std::optional<double> target) {
  fmt::print("{}\n", to_json(outcomes, target).dump(2, ' ', false, Json::error_handler_t::replace));
}

void write_comparison(std::span<const Outcome> outcomes, std::optional<double> target,
                      const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::ofstream out(file);
  out << to_json(outcomes, target).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  if (!out.flush())
    throw InvalidConfig("cannot write " + file.string() + "; give --out a place you may write to");
}

}  // namespace tacit::cli
