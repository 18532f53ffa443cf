// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/train/dataset.h"

namespace tacit {

// A pair of data sets that lie in memory, while they are read.
struct BytesPair {
  ImageBytes train;
  ImageBytes test;
};

}  // namespace tacit
