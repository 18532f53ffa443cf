// SPDX-License-Identifier: MIT
// A comparison for a person.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/comparison.h"
#include "cli/layout.h"
#include "cli/statistics.h"

namespace tacit::cli {

using Value = std::function<std::optional<double>(const Outcome&)>;

// Of the runs that have numbers, which those that diverged have too: none is left out for what it says. Nothing where
// there are none, or where one of them has no such value.
std::optional<Sample> sample_of(const Row& row, const Value& value);

inline std::optional<double> step_seconds(const Outcome& o) { return o.step_seconds; }
inline std::optional<double> seconds(const Outcome& o) { return o.seconds; }
inline std::optional<double> target_seconds(const Outcome& o) { return o.target_seconds; }
inline std::optional<double> accuracy(const Outcome& o) { return o.accuracy; }
inline std::optional<double> bytes(const Outcome& o) { return o.bytes_per_worker; }
inline std::optional<double> computing(const Outcome& o) { return o.computing; }
inline std::optional<double> communicating(const Outcome& o) { return o.communicating; }
inline std::optional<double> waiting(const Outcome& o) { return o.waiting; }

// What the accuracies of a row are above those of another, seed by seed, over the seeds with which both have numbers.
// Nothing where there are no such seeds, or where a run of either that has numbers has no accuracy.
std::optional<PairedDifference> accuracy_difference(const Row& row, const Row& other);

// "84.01 ±0.23 %", or of one run "84.01 %".
std::string accuracy_text(const std::optional<Sample>& sample);
// "+0.31", and the interval "-0.20 to +0.82", in points; "-" where there is none.
std::string points_text(const std::optional<PairedDifference>& difference);
std::string interval_text(const std::optional<PairedDifference>& difference);

// "ssd, 8 workers, seed 3 diverged: the loss rose ...", for each of the row's runs that did, or failed.
std::vector<std::string> bad_runs(const Row& row, RunStatus status, bool with_workers);
// "ssd, 8 workers is missing with seeds 3, 4"; empty where none is.
std::string missing_runs(const Row& row, bool with_workers);

// Lines, one per row; below them one for every run that diverged or failed, and one for those of a row that are
// missing; then, where there are several seeds, how accurate each row is beside the first with as many workers. Where
// there are too few columns for all there is to say of a row, it is said in several tables, the first of which has what
// the comparison is for.
std::string table_of(const Comparison& comparison, std::size_t columns = kAnyWidth);

}  // namespace tacit::cli
