// SPDX-License-Identifier: MIT
#include "cli/time_left.h"

#include <algorithm>

namespace tacit::cli {

std::optional<double> seconds_left(std::span<const double> done, std::span<const RunTime> under_way,
                                   std::size_t waiting, int jobs) {
  double sum = 0;
  std::size_t known = done.size();
  for (const double each : done) sum += each;
  for (const RunTime& run : under_way) {
    sum += run.whole.value_or(0);
    known += run.whole ? 1 : 0;
  }
  if (known == 0) return std::nullopt;
  const double usual = sum / static_cast<double>(known);
  std::vector<double> places;  // when each is free
  for (const RunTime& run : under_way)
    places.push_back(std::max(0.0, run.whole.value_or(usual) - run.passed));
  places.resize(std::max(places.size(), static_cast<std::size_t>(std::max(jobs, 1))), 0);
  for (std::size_t i = 0; i < waiting; ++i) *std::min_element(places.begin(), places.end()) += usual;
  return *std::max_element(places.begin(), places.end());
}

}  // namespace tacit::cli
