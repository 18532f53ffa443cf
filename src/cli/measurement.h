// SPDX-License-Identifier: MIT
// What `tacit measure` makes of times: a cluster, and the text of its file. Arithmetic alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tacit::cli {

// So many bytes took so long.
struct LinkTiming {
  double bytes = 0;
  double seconds = 0;
};

// bytes / bandwidth + latency.
struct LinkFit {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes per second; infinite where more bytes took no longer
};

// The line through the timings whose relative errors have the smallest squares: a small message counts as much as a
// large one. Of two timings at least, of different sizes.
LinkFit fit_link(std::span<const LinkTiming> timings);

// The steps of ranks, fitted by log-normal times: exp of a normal number of this spread around each rank's own pace.
struct StepFit {
  double seconds = 0;         // the mean of the middle rank
  double jitter = 0;          // sigma
  std::vector<double> speed;  // by rank, the middle rank's is 1; empty where all are alike
};
// By rank, in seconds; every rank has as many.
StepFit fit_steps(std::span<const std::vector<double>> steps);

struct PairSpeed {
  int first = 0;
  int second = 0;
  LinkFit link;
};

struct Measured {
  int workers = 1;
  std::string world;
  std::string model;
  std::string data;
  int batch = 0;
  std::string date;
  double memory = 0;  // bytes per second that a rank copies
  StepFit step;
  // With more than one rank: what each has while all talk to all, and what a pair has while the others are silent.
  LinkFit together;
  std::vector<PairSpeed> pairs;
};

double median(std::vector<double> values);
// The pair whose messages of a megabyte take longest.
const PairSpeed& slowest_pair(const Measured& measured);

// What compare and simulate read: docs/simulator.md.
std::string cluster_text(const Measured& measured);
std::string measured_table(const Measured& measured);

}  // namespace tacit::cli
