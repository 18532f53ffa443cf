// SPDX-License-Identifier: MIT
#include "cli/statistics.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

constexpr double kTwoSided = 0.975;  // leaves 95 % between itself and its mirror
constexpr int kHalvings = 80;        // more than a double has bits

// The probability that |t| < sqrt(freedom) tan(angle): for whole degrees of freedom a finite sum (M. Abramowitz and
// I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
double within(double angle, int freedom) {
  const bool odd = freedom % 2 == 1;
  const double cosine = std::cos(angle);
  double term = odd ? cosine : 1;
  double sum = freedom == 1 ? 0 : term;
  for (int power = odd ? 3 : 2; power < freedom; power += 2) {
    term *= cosine * cosine * (power - 1) / power;
    sum += term;
  }
  const double all = std::sin(angle) * sum;
  return odd ? (angle + all) * 2 / std::numbers::pi : all;
}

}  // namespace

double student_quantile(double probability, int freedom) {
  TACIT_CHECK(probability > 0.5 && probability < 1 && freedom > 0, "Student's t has no such quantile");
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (within(middle, freedom) < 2 * probability - 1 ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(freedom)) * std::tan(low);
}

Sample sample_of(std::span<const double> values) {
  TACIT_CHECK(!values.empty(), "nothing has no mean");
  const auto n = static_cast<double>(values.size());
  Sample s{values.size(), 0, std::nullopt};
  for (const double each : values) s.mean += each / n;
  if (values.size() == 1) return s;
  double squares = 0;
  for (const double each : values) squares += (each - s.mean) * (each - s.mean);
  s.deviation = std::sqrt(squares / (n - 1));
  return s;
}

PairedDifference paired_difference(std::span<const double> values, std::span<const double> others) {
  TACIT_CHECK(values.size() == others.size(), "pairs are of two");
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - others[i]);
  PairedDifference d{sample_of(differences)};
  if (!d.sample.deviation) return d;
  const auto n = static_cast<int>(d.sample.n);
  const double reach = student_quantile(kTwoSided, n - 1) * *d.sample.deviation / std::sqrt(n);
  d.interval = Interval{d.sample.mean - reach, d.sample.mean + reach};
  return d;
}

std::optional<bool> PairedDifference::may_be_chance() const {
  if (!interval) return std::nullopt;
  return interval->has_zero();
}

}  // namespace tacit::cli
