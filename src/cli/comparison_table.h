// SPDX-License-Identifier: MIT
// A comparison for a person.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/comparison.h"
#include "cli/layout.h"

namespace tacit::cli {

// Over the runs of a line: their mean, and how far the farthest is from it.
struct Spread {
  double mean = 0;
  double most = 0;
};

using Value = std::function<std::optional<double>(const Outcome&)>;

// Of the runs that have numbers. Nothing where there are none, or where one of them has no such value.
std::optional<Spread> spread(const Row& row, const Value& value);

inline std::optional<double> step_seconds(const Outcome& o) { return o.step_seconds; }
inline std::optional<double> seconds(const Outcome& o) { return o.seconds; }
inline std::optional<double> target_seconds(const Outcome& o) { return o.target_seconds; }
inline std::optional<double> accuracy(const Outcome& o) { return o.accuracy; }
inline std::optional<double> bytes(const Outcome& o) { return o.bytes_per_worker; }
inline std::optional<double> computing(const Outcome& o) { return o.computing; }
inline std::optional<double> communicating(const Outcome& o) { return o.communicating; }
inline std::optional<double> waiting(const Outcome& o) { return o.waiting; }

// Lines, one per row; below them one for every run that diverged or failed, and one for those of a row that are
// missing. Where there are too few columns for all there is to say of a row, it is said in several tables, the first of
// which has what the comparison is for.
std::string table_of(const Comparison& comparison, std::size_t columns = kAnyWidth);

}  // namespace tacit::cli
