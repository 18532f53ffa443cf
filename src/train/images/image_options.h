// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/core/options.h"

namespace tacit {

// What the data set `images` can be told.
struct ImageOptions {
  std::string path;
  int size = 64;
  double test = 0.1;
  bool test_given = false;
  std::int64_t holdout = 0;
  std::int64_t limit = 0;
  bool random_crop = true;
  double area = 0.08;
  bool flip = true;
  double bad = 0.1;
  int threads = 0;
  std::uint64_t seed = 1;
};

ImageOptions read_image_options(OptionReader& options);

}  // namespace tacit
