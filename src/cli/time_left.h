// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tacit::cli {

// One of several runs that share the cores of a machine.
struct RunTime {
  std::optional<double> whole{};  // seconds from its start to its end, as far as is known
  double passed = 0;
};

// Seconds until the last of them ends: those under way, and so many that wait for one of the `jobs` places, which take
// as long as the others on average. Nothing where nothing is known of any.
std::optional<double> seconds_left(std::span<const double> done, std::span<const RunTime> under_way,
                                   std::size_t waiting, int jobs);

}  // namespace tacit::cli
