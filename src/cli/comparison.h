// SPDX-License-Identifier: MIT
// What tacit compare says once its runs have ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tacit::cli {

// One run.
struct Outcome {
  std::uint64_t seed = 0;
  std::string error;  // why there is nothing else
  double step_seconds = 0;
  double seconds = 0;
  std::optional<double> target_seconds;  // until the target accuracy, where it was reached
  std::optional<double> accuracy;
  double bytes_per_worker = 0;
  double waiting = 0;  // share of the time
  std::string trace_hash;
};

// The runs that differ in their seed alone: one line of the table.
struct Row {
  std::string name;
  int workers = 0;
  std::vector<Outcome> outcomes;
  std::optional<double> speed_up;  // against the first line with as many workers
};

Outcome read_outcome(std::uint64_t seed, const std::filesystem::path& out, std::optional<double> target);
Outcome failed_outcome(std::uint64_t seed, const std::string& why);

// By the mean time to the target, where all runs of the first line reached it; else by the time of whole runs.
void set_speed_ups(std::span<Row> rows);

struct Comparison {
  std::string title;
  std::optional<double> target;
  std::vector<Row> rows;

  bool good() const;  // no run failed
  void print() const;
  void print_json() const;
  void write(const std::filesystem::path& file) const;
};

}  // namespace tacit::cli
