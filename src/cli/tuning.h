// SPDX-License-Identifier: MIT
// Which learning rate each strategy should have, by runs over a grid of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/comparison.h"
#include "cli/experiment.h"
#include "cli/statistics.h"

namespace tacit::cli {

// "0.005,0.01,0.02", upwards. Throws InvalidConfig.
std::vector<double> split_rates(const std::string& text);
// A quarter, a half, the rate itself, twice and four times that.
std::vector<double> rates_around(double rate);

// A strategy and the rates that it is tried with, upwards.
struct Candidate {
  Contender contender;
  std::vector<double> rates;
  int added = 0;  // of them, beyond the ends of the first grid
};

// One contender for each rate of each candidate, in this order.
Experiment grid_of(const Experiment& base, const std::vector<Candidate>& candidates);

// The rates next to the ends of a grid, as far from these as their own neighbours are; twice and half of a single one.
double rate_below(const std::vector<double>& rates);
double rate_above(const std::vector<double>& rates);

// What the runs say of a candidate.
struct Choice {
  std::string name;
  std::vector<double> rates;
  std::vector<Row> rows;  // one for each rate
  std::optional<std::size_t>
      best{};  // of the rates at which all runs finished, that of the highest mean accuracy
  std::optional<std::size_t> runner_up{};
  std::optional<PairedDifference> lead{};  // of the best over the runner-up, seed by seed
  // The largest rate at which all runs finished and none ended farther below the best's mean than was allowed.
  std::optional<std::size_t> stable{};
  // The best is the last one on this side, so that a better one may lie beyond; or every rate of the grid was too large.
  bool at_low_end = false;
  bool at_high_end = false;
};

// `margin` is an accuracy: 0.05 is five points.
Choice choose(const Candidate& candidate, std::vector<Row> rows, double margin);
// One for each candidate, from the comparison of their grid.
std::vector<Choice> choices_of(const std::vector<Candidate>& candidates, const Comparison& comparison,
                               double margin);

// Lengthens the grids that end at their best, by at most `most` rates each. Whether there are new ones.
bool extend(std::vector<Candidate>& candidates, const std::vector<Choice>& choices, int most);
// The candidates with all rates that extend() could come to.
std::vector<Candidate> farthest(std::vector<Candidate> candidates, int most);

}  // namespace tacit::cli
