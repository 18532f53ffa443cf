// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench.h"

namespace tacit::cli {
namespace {

constexpr std::size_t kTime = 12;  // columns
constexpr std::size_t kRatio = 13;

bool is_rate(const BenchPlan& plan) { return plan.kind == "bandwidth"; }

double per_second(const BenchRow& row) { return static_cast<double>(row.bytes) / row.ours; }

std::string what(const BenchPlan& plan) {
  if (plan.kind == "allreduce") return fmt::format("Sum of floats over {} ranks", plan.workers);
  if (plan.kind == "latency") return "Half the time of a message from rank 0 to rank 1 and back";
  return "Messages streamed from rank 0 to rank 1";
}

// With few columns the ratios to others are worth more than their times.
std::vector<Column> bench_columns(const BenchPlan& plan) {
  std::vector<Column> all{{"bytes", 10, 4}, {is_rate(plan) ? "tacit [GB/s]" : "tacit [us]", kTime, 3}};
  for (const std::string& name : plan.beside) {
    all.push_back({name + " [us]", kTime, 1});
    all.push_back({name + "/tacit", kRatio, 2});
  }
  return all;
}

}  // namespace

BenchTable::BenchTable(const BenchPlan& plan, std::size_t columns)
    : plan_(plan), columns_(columns), table_(bench_columns(plan), columns) {}

std::string BenchTable::heading(int turns) const {
  const std::string world = plan_.security.empty() ? plan_.world : plan_.world + " with " + plan_.security;
  const std::string text = fmt::format("{}, world {}, {} cores; medians of {} turns", what(plan_), world,
                                       std::thread::hardware_concurrency(), turns);
  return wrapped(text, columns_, 2) + "\n" + table_.head();
}

std::string BenchTable::row(const BenchRow& row) const {
  const double ours = is_rate(plan_) ? per_second(row) * 1e-9 : row.ours * 1e6;
  std::vector<std::string> cells{std::to_string(row.bytes), fmt::format("{:.2f}", ours)};
  for (const double theirs : row.theirs) {
    cells.push_back(fmt::format("{:.2f}", theirs * 1e6));
    cells.push_back(fmt::format("{:.2f}x", theirs / row.ours));
  }
  return table_.row(cells);
}

void print_bench_json(const BenchPlan& plan, const std::vector<BenchRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const BenchRow& row : rows) {
    nlohmann::ordered_json object{{"bench", plan.kind}, {"world", plan.world}};
    if (!plan.security.empty()) object["security"] = plan.security;
    object["ranks"] = plan.workers;
    object["bytes"] = row.bytes;
    object["seconds"] = row.ours;
    if (is_rate(plan)) object["bytes_per_second"] = per_second(row);
    auto beside = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.theirs.size(); ++i)
      beside[plan.beside[i]] = {{"seconds", row.theirs[i]}, {"ratio", row.theirs[i] / row.ours}};
    object["beside"] = std::move(beside);
    out.push_back(std::move(object));
  }
  fmt::print("{}\n", out.dump(2));
}

}  // namespace tacit::cli
