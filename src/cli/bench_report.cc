// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench.h"

namespace tacit::cli {
namespace {

constexpr int kWidth = 14;

bool is_rate(const BenchPlan& plan) { return plan.kind == "bandwidth"; }

double per_second(const BenchRow& row) { return static_cast<double>(row.bytes) / row.ours; }

std::string what(const BenchPlan& plan) {
  if (plan.kind == "allreduce") return "Sum of floats over all ranks";
  if (plan.kind == "latency") return "Half the time of a message from rank 0 to rank 1 and back";
  return "Messages streamed from rank 0 to rank 1";
}

}  // namespace

void print_bench_heading(const BenchPlan& plan, int turns) {
  const std::string world = plan.security.empty() ? plan.world : plan.world + " with " + plan.security;
  fmt::print("{}, world {}, {} cores; medians of {} turns{}\n", what(plan), world,
             std::thread::hardware_concurrency(), turns,
             plan.beside.empty() ? "" : ", ratio = theirs / tacit");
  fmt::print("{:>5} {:>12} {:>{}}", "ranks", "bytes", is_rate(plan) ? "tacit [GB/s]" : "tacit [us]", kWidth);
  for (const std::string& name : plan.beside) fmt::print(" {:>{}} {:>8}", name + " [us]", kWidth, "ratio");
  fmt::print("\n");
  std::fflush(stdout);
}

void print_bench_row(const BenchPlan& plan, const BenchRow& row) {
  const double ours = is_rate(plan) ? per_second(row) * 1e-9 : row.ours * 1e6;
  fmt::print("{:>5} {:>12} {:>{}.2f}", plan.workers, row.bytes, ours, kWidth);
  for (const double theirs : row.theirs)
    fmt::print(" {:>{}.2f} {:>7.2f}x", theirs * 1e6, kWidth, theirs / row.ours);
  fmt::print("\n");
  std::fflush(stdout);
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
