// SPDX-License-Identifier: MIT
#include "cli/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

constexpr double kAlike = 0.05;  // ranks whose paces differ by less are alike
constexpr double kMegabyte = 1e6;

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g}s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g}ms", seconds * 1e3);
  return fmt::format("{:.4g}us", seconds * 1e6);
}

// What no measurement can tell from infinite is written as a terabyte per second.
std::string bandwidth_text(double bytes) {
  if (!(bytes < 1e12)) return "1TB/s";
  if (bytes >= 1e9) return fmt::format("{:.4g}GB/s", bytes / 1e9);
  return fmt::format("{:.4g}MB/s", bytes / 1e6);
}

std::string link_text(const LinkFit& link) {
  return fmt::format("{}, {}", time_text(link.latency), bandwidth_text(link.bandwidth));
}

double time_of_megabyte(const LinkFit& link) { return link.latency + kMegabyte / link.bandwidth; }

LinkFit typical(std::span<const PairSpeed> pairs) {
  std::vector<double> latencies;
  std::vector<double> bandwidths;
  for (const PairSpeed& each : pairs) {
    latencies.push_back(each.link.latency);
    bandwidths.push_back(each.link.bandwidth);
  }
  return {median(latencies), median(bandwidths)};
}

std::string network_text(const Measured& m) {
  if (m.workers == 1) return "# One rank: there was no link to measure.\n";
  const PairSpeed& slow = slowest_pair(m);
  return fmt::format(
      "# A worker's link to the switch, of which a message crosses two: latency and bandwidth fitted to "
      "messages of "
      "several\n# sizes that every rank sent to every other at once, as strategies do. While the others were "
      "silent, a "
      "pair had\n# {} (median); the slowest, ranks {} and {}, {}.\n[network]\npreset = \"flat\"\nbandwidth = "
      "\"{}\"\nlatency = \"{}\"\n",
      link_text(typical(m.pairs)), slow.first, slow.second, link_text(slow.link),
      bandwidth_text(m.together.bandwidth), time_text(m.together.latency / 2));
}

std::string speed_text(const std::vector<double>& speed) {
  if (speed.empty()) return "# All ranks computed alike.\n";
  std::string text;
  for (const double each : speed) text += fmt::format("{}{:.3f}", text.empty() ? "" : ", ", each);
  return "speed = [" + text + "]\n";
}

}  // namespace

double median(std::vector<double> values) {
  TACIT_CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

LinkFit fit_link(std::span<const LinkTiming> timings) {
  // Of the sum of ((latency + bytes * slope - seconds) / seconds)^2, both derivatives are 0.
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wy = 0;
  double wxy = 0;
  for (const auto& [x, y] : timings) {
    TACIT_CHECK(y > 0, "a message takes time");
    const double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  const double determinant = w * wxx - wx * wx;
  TACIT_CHECK(determinant > 0, "a line wants messages of two sizes");
  double slope = (w * wxy - wx * wy) / determinant;
  double latency = (wy - slope * wx) / w;
  if (latency < 0) {  // no message is there before it was sent: a line through 0
    latency = 0;
    slope = wxy / wxx;
  }
  if (slope <= 0) return {wy / w, std::numeric_limits<double>::infinity()};
  return {latency, 1 / slope};
}

// A step now and then that takes much longer is part of what training takes: a mean has it, a median has not.
StepFit fit_steps(std::span<const std::vector<double>> steps) {
  std::vector<double> means;
  double squares = 0;
  double count = 0;
  for (const std::vector<double>& rank : steps) {
    double sum = 0;
    double logs = 0;
    double log_squares = 0;
    for (const double each : rank) {
      sum += each;
      logs += std::log(each);
      log_squares += std::log(each) * std::log(each);
    }
    const auto own = static_cast<double>(rank.size());
    means.push_back(sum / own);
    squares += std::max(0.0, log_squares - logs * logs / own);
    count += own;
  }
  StepFit fit{median(means), std::min(3.0, std::sqrt(squares / count)), {}};
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  if (*most > (1 + kAlike) * *least)
    for (const double mean : means) fit.speed.push_back(fit.seconds / mean);
  return fit;
}

const PairSpeed& slowest_pair(const Measured& measured) {
  return *std::max_element(measured.pairs.begin(), measured.pairs.end(), [](const auto& a, const auto& b) {
    return time_of_megabyte(a.link) < time_of_megabyte(b.link);
  });
}

std::string cluster_text(const Measured& m) {
  return fmt::format(
      "# Measured by `tacit measure` on {}, with {} rank{} ({}).\nworkers = {}\n\n{}\n# A step of {} on {}, "
      "{} samples "
      "per rank: batch, gradient and optimiser, on all ranks at once. Means of ranks;\n# jitter is their "
      "spread "
      "within a rank, memory what a rank copied per second.\n[compute]\nstep = \"{}\"\njitter = "
      "{:.3f}\nmemory = "
      "\"{}\"\n{}",
      m.date, m.workers, m.workers == 1 ? "" : "s", m.world, m.workers, network_text(m), m.model, m.data,
      m.batch, time_text(m.step.seconds), m.step.jitter, bandwidth_text(m.memory), speed_text(m.step.speed));
}

std::string measured_table(const Measured& m) {
  std::string text = fmt::format("{:<16} {} ({})\n", "ranks", m.workers, m.world);
  text += fmt::format("{:<16} {}, jitter {:.2f}\n", "step", time_text(m.step.seconds), m.step.jitter);
  for (std::size_t rank = 0; rank < m.step.speed.size(); ++rank)
    text += fmt::format("{:<16} {:.2f} of the middle one's\n", fmt::format("speed of {}", rank),
                        m.step.speed[rank]);
  text += fmt::format("{:<16} {}\n", "memory", bandwidth_text(m.memory));
  if (m.workers == 1) return text;
  const PairSpeed& slow = slowest_pair(m);
  text += fmt::format("{:<16} {}\n", "a pair alone", link_text(typical(m.pairs)));
  text += fmt::format("{:<16} {} (ranks {} and {})\n", "slowest pair", link_text(slow.link), slow.first,
                      slow.second);
  text += fmt::format("{:<16} {}\n", "all at once", link_text(m.together));
  return text;
}

}  // namespace tacit::cli
