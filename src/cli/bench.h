// SPDX-License-Identifier: MIT
// The parts of `tacit bench`: the parent that gives turns (bench.cc), Tacit as a contestant (bench_follow.cc), the
// result (bench_report.cc), and compressors, which need no peers (bench_compress.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/layout.h"

namespace tacit::cli {

// Takes turns as Tacit until the input ends: ranks 0 .. workers-1 in this process for "threads", this process's rank in
// a launcher's world for "tcp" and "mpi". Throws InvalidConfig where there is no such world.
int follow_bench(const std::string& world, int workers);

// Measures one compressor, or all of them, on a vector of so many values.
int bench_compress(const std::string& spec, std::int64_t values, bool json);

// What is measured and by whom.
struct BenchPlan {
  std::string kind;  // allreduce, latency, bandwidth
  std::string world;
  std::string security;  // "TLS 1.3", "plaintext", or empty where nothing leaves the machine's memory
  int workers = 0;
  std::vector<std::string> beside;
};

// One size: median seconds of Tacit and, in the order of the plan, of the others.
struct BenchRow {
  std::size_t bytes = 0;
  double ours = 0;
  std::vector<double> theirs;
};

// A ratio above 1 says that Tacit is the faster one.
class BenchTable {
 public:
  BenchTable(const BenchPlan& plan, std::size_t columns);
  // What is measured, and the heads of the columns.
  std::string heading(int turns) const;
  std::string row(const BenchRow& row) const;

 private:
  const BenchPlan plan_;
  const std::size_t columns_;
  const FixedTable table_;
};
void print_bench_json(const BenchPlan& plan, const std::vector<BenchRow>& rows);

}  // namespace tacit::cli
