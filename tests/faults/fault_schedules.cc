// SPDX-License-Identifier: MIT
// fault_schedules FIRST LAST [--servers] [-v]: runs the schedules of these seeds and says what they broke. --servers: of
// strategies whose servers' shards move. -v: what each is.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "faults/schedule.h"

int main(int argc, char** argv) {
  using namespace tacit::test;
  if (argc < 3) {
    std::fprintf(stderr, "usage: fault_schedules FIRST LAST [--servers] [-v]\n");
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t last = std::strtoull(argv[2], nullptr, 10);
  const std::set<std::string> wishes(argv + 3, argv + argc);
  const bool verbose = wishes.contains("-v");
  const auto draw = wishes.contains("--servers") ? draw_server_schedule : draw_schedule;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t bad = 0;
  std::uint64_t all_finished = 0;
  std::uint64_t some_finished = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const FaultCase schedule = draw(seed);
    const ScheduleOutcome outcome = run_in_child(schedule);
    all_finished += outcome.finished == schedule.cluster.workers ? 1 : 0;
    some_finished += outcome.finished > 0 && outcome.finished < schedule.cluster.workers ? 1 : 0;
    bad += outcome.violations.empty() ? 0 : 1;
    if (verbose || !outcome.violations.empty())
      std::printf("%s; finished %d; trace %s\n", describe(schedule).c_str(), outcome.finished,
                  outcome.trace_hash.c_str());
    for (const std::string& each : outcome.violations) std::printf("  violation: %s\n", each.c_str());
    std::fflush(stdout);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::uint64_t runs = last - first + 1;
  std::printf(
      "%llu schedules in %.1f s: %llu with a violation; all ranks finished in %llu, some in %llu, none in "
      "%llu\n",
      static_cast<unsigned long long>(runs), took.count(), static_cast<unsigned long long>(bad),
      static_cast<unsigned long long>(all_finished), static_cast<unsigned long long>(some_finished),
      static_cast<unsigned long long>(runs - all_finished - some_finished));
  return bad == 0 ? 0 : 1;
}
