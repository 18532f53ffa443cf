// SPDX-License-Identifier: MIT
// What a few runs say of many: mean, deviation, and how far a difference can be trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tacit::cli {

// Of the values of some runs.
struct Sample {
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> deviation{};  // the sample's, over n - 1; one value has none
};

// Of one value or more.
Sample sample_of(std::span<const double> values);

// 95 of 100 such intervals have the true value in them.
struct Interval {
  double low = 0;
  double high = 0;
  bool has_zero() const { return low <= 0 && high >= 0; }
};

// What values are above others, pair by pair: what the two of a pair have in common, such as the data of a seed, is not
// in it.
struct PairedDifference {
  Sample sample;
  std::optional<Interval> interval{};  // by Student's t; of one pair there is none

  // Whether it may be none at all. Nothing where that cannot be known.
  std::optional<bool> may_be_chance() const;
};

// As many of the one as of the other, in the same order.
PairedDifference paired_difference(std::span<const double> values, std::span<const double> others);

// What Student's t with so many degrees of freedom stays below with this probability, which is more than a half.
double student_quantile(double probability, int freedom);

}  // namespace tacit::cli
