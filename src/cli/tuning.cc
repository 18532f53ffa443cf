// SPDX-License-Identifier: MIT
#include "cli/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "cli/comparison_table.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

constexpr double kLeastRatio = 1.25;  // between a new rate and its neighbour: less is no step

// In four digits, so that a grid that is lengthened has rates as a person writes them.
double in_few_digits(double rate) { return std::stod(fmt::format("{:.4g}", rate)); }

double rate_from(const std::string& piece) {
  double rate = 0;
  const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), rate);
  if (error != std::errc{} || end != piece.data() + piece.size() || !(rate > 0) || !std::isfinite(rate))
    throw InvalidConfig(
        fmt::format("--rates: '{}' is no learning rate; give positive numbers with commas between them, such "
                    "as 0.005,0.01,0.02",
                    shown(piece)));
  return rate;
}

bool all_count(const Row& row) {
  return row.count(RunStatus::kFinished) == row.outcomes.size() && sample_of(row, accuracy).has_value();
}

double lowest_accuracy(const Row& row) {
  double lowest = 1;
  for (const Outcome& o : row.outcomes) lowest = std::min(lowest, *o.accuracy);
  return lowest;
}

// The places of the rates at which all runs finished, the best first, of two equal ones the smaller rate.
std::vector<std::size_t> ranking_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (all_count(rows[i])) places.push_back(i);
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return sample_of(rows[a], accuracy)->mean > sample_of(rows[b], accuracy)->mean;
  });
  return places;
}

bool any_diverged(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& r) { return r.count(RunStatus::kDiverged) > 0; });
}

}  // namespace

std::vector<double> split_rates(const std::string& text) {
  std::vector<double> rates;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) rates.push_back(rate_from(piece));
  if (rates.empty())
    throw InvalidConfig(
        "--rates is empty; give learning rates with commas between them, such as 0.005,0.01,0.02");
  std::sort(rates.begin(), rates.end());
  if (const auto twin = std::adjacent_find(rates.begin(), rates.end()); twin != rates.end())
    throw InvalidConfig(fmt::format("--rates has {} twice; give different ones", *twin));
  return rates;
}

std::vector<double> rates_around(double rate) { return {rate / 4, rate / 2, rate, 2 * rate, 4 * rate}; }

Experiment grid_of(const Experiment& base, const std::vector<Candidate>& candidates) {
  Experiment grid = base;
  grid.contenders.clear();
  for (const Candidate& each : candidates)
    for (const double rate : each.rates) {
      Contender c = each.contender;
      c.name += fmt::format(" lr {}", rate);
      c.lr = rate;
      grid.contenders.push_back(std::move(c));
    }
  return grid;
}

double rate_below(const std::vector<double>& rates) {
  const double ratio = rates.size() > 1 ? rates[1] / rates[0] : 2;
  return in_few_digits(rates.front() / std::max(ratio, kLeastRatio));
}

double rate_above(const std::vector<double>& rates) {
  const double ratio = rates.size() > 1 ? rates.back() / rates[rates.size() - 2] : 2;
  return in_few_digits(rates.back() * std::max(ratio, kLeastRatio));
}

Choice choose(const Candidate& candidate, std::vector<Row> rows, double margin) {
  Choice c{candidate.contender.name, candidate.rates, std::move(rows)};
  const std::vector<std::size_t> ranking = ranking_of(c.rows);
  if (ranking.empty()) {
    c.at_low_end = any_diverged(c.rows);
    return c;
  }
  c.best = ranking[0];
  c.at_low_end = *c.best == 0;
  c.at_high_end = *c.best + 1 == c.rates.size();
  const Row& best = c.rows[*c.best];
  const double least = sample_of(best, accuracy)->mean - margin;
  for (std::size_t i = 0; i < c.rows.size(); ++i)
    if (all_count(c.rows[i]) && lowest_accuracy(c.rows[i]) >= least) c.stable = i;
  if (ranking.size() == 1) return c;
  c.runner_up = ranking[1];
  c.lead = accuracy_difference(best, c.rows[*c.runner_up]);
  return c;
}

std::vector<Choice> choices_of(const std::vector<Candidate>& candidates, const Comparison& comparison,
                               double margin) {
  std::vector<Choice> choices;
  auto row = comparison.rows.begin();
  for (const Candidate& each : candidates) {
    const auto end = row + static_cast<std::ptrdiff_t>(each.rates.size());
    choices.push_back(choose(each, {row, end}, margin));
    row = end;
  }
  return choices;
}

bool extend(std::vector<Candidate>& candidates, const std::vector<Choice>& choices, int most) {
  bool any = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    if (choices[i].at_high_end && c.added < most) {
      c.rates.push_back(rate_above(c.rates));
      ++c.added;
      any = true;
    }
    if (choices[i].at_low_end && c.added < most) {
      c.rates.insert(c.rates.begin(), rate_below(c.rates));
      ++c.added;
      any = true;
    }
  }
  return any;
}

std::vector<Candidate> farthest(std::vector<Candidate> candidates, int most) {
  for (Candidate& each : candidates)
    for (int i = each.added; i < most; ++i) {
      each.rates.push_back(rate_above(each.rates));
      each.rates.insert(each.rates.begin(), rate_below(each.rates));
    }
  return candidates;
}

}  // namespace tacit::cli
