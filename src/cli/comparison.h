// SPDX-License-Identifier: MIT
// What tacit compare says once its runs have ended.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tacit::cli {

struct Outcome {
  std::string strategy;
  std::string error;  // why there is nothing else
  double step_seconds = 0;
  double seconds = 0;
  std::optional<double> target_seconds;  // until the target accuracy, where it was reached
  std::optional<double> accuracy;
  double bytes_per_worker = 0;
  double waiting = 0;              // share of the time
  std::optional<double> speed_up;  // against the first
  std::string trace_hash;
};

// "ssgd,local:period=8,wagma:group=4,period=2" is three: what has a `=` and no `:` goes on with the one before.
std::vector<std::string> split_strategies(const std::string& text);

Outcome read_outcome(const std::string& strategy, const std::filesystem::path& out,
                     std::optional<double> target);
Outcome failed_outcome(const std::string& strategy, const std::string& why);

// By the time to the target, where the first one reached it; else by the time of the whole run.
void set_speed_ups(std::span<Outcome> outcomes);

void print_comparison(std::span<const Outcome> outcomes, std::optional<double> target);
void print_comparison_json(std::span<const Outcome> outcomes, std::optional<double> target);
void write_comparison(std::span<const Outcome> outcomes, std::optional<double> target,
                      const std::filesystem::path& file);

}  // namespace tacit::cli
