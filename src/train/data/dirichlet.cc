// SPDX-License-Identifier: MIT
#include "train/data/dirichlet.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tacit {
namespace {

constexpr double kLog2 = std::numbers::ln2;
constexpr double kRootOfHalf = std::numbers::sqrt2 / 2;

// Between 0 and 1, and neither of them.
double uniform(Rng& rng) { return (static_cast<double>(rng.next() >> 12U) + 0.5) * 0x1.0p-52; }

// Standard normal, by Marsaglia's polar method, which needs no cosine; the second value is not kept.
double normal(Rng& rng) {
  for (;;) {
    const double u = 2 * uniform(rng) - 1;  // never 0
    const double v = 2 * uniform(rng) - 1;
    const double square = u * u + v * v;
    if (square < 1) return u * std::sqrt(-2 * portable_log(square) / square);
  }
}

// A draw of each part's gamma distribution, divided by their sum.
std::vector<double> draw_shares(Rng& rng, double alpha, int parts) {
  std::vector<double> shares(static_cast<std::size_t>(parts));
  for (double& each : shares) each = draw_log_gamma(rng, alpha);
  const double most = *std::max_element(shares.begin(), shares.end());
  double sum = 0;
  for (double& each : shares) sum += each = portable_exp(each - most);
  for (double& each : shares) each /= sum;
  return shares;
}

}  // namespace

// x = m 2^e with m around 1, and log m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1), which is below 0.172: what is
// left out is below 1e-18.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kRootOfHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * (s * s) + 1.0 / k;
  return exponent * kLog2 + 2 * s * sum;
}

// x = k log 2 + r with |r| below 0.347, and the series of exp r: what is left out is below 1e-23.
double portable_exp(double x) {
  if (x < -700) return 0;  // nearly the smallest double; no share is so small
  const double k = std::floor(x / kLog2 + 0.5);
  const double r = x - k * kLog2;
  double sum = 1;
  for (int i = 17; i >= 1; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(k));
}

// G. Marsaglia, W. W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000. A draw of a shape
// below 1 is one of a shape that is larger by 1, times U^(1/shape).
double draw_log_gamma(Rng& rng, double shape) {
  const double boost = shape < 1 ? portable_log(uniform(rng)) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(rng);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_v = portable_log(v);
    if (portable_log(uniform(rng)) < x * x / 2 + d - d * v + d * log_v)
      return portable_log(d) + log_v + boost;
  }
}

std::vector<std::size_t> draw_counts(Rng& rng, double alpha, int parts, std::size_t total) {
  const std::vector<double> shares = draw_shares(rng, alpha, parts);
  std::vector<std::size_t> counts;
  double up_to_here = 0;
  std::size_t before = 0;
  for (const double share : shares) {
    up_to_here += share;
    const auto cut = static_cast<std::size_t>(std::floor(up_to_here * static_cast<double>(total) + 0.5));
    counts.push_back(std::min(cut, total) - before);
    before += counts.back();
  }
  counts.back() += total - before;
  return counts;
}

}  // namespace tacit
