// SPDX-License-Identifier: MIT
// Images that need no file: every class has a smooth random prototype, and a sample is its class's prototype
// with noise on every pixel.
#pragma once

#include <cstdint>

#include "train/data/bytes_pair.h"

namespace tacit {

struct SyntheticOptions {
  std::int64_t samples = 4096;
  std::int64_t test = 1024;
  int classes = 10;
  int channels = 1;
  int size = 28;       // height and width
  double noise = 0.5;  // standard deviation, where black is 0 and white is 1
  std::uint64_t seed = 1;
};

// Reads and checks the options; the total size is bounded. Throws InvalidConfig.
SyntheticOptions read_synthetic_options(OptionReader& options);

// The same for every rank, and sample i is the same whatever the number of samples. Mean and spread are left
// to the caller.
BytesPair make_synthetic(const SyntheticOptions& options);

}  // namespace tacit
