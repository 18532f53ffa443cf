// SPDX-License-Identifier: MIT
#pragma once

#include "train/data/memory_samples.h"

namespace tacit::test {

// Of a data set in memory.
inline const ImageBytes& image_bytes(const Dataset& data) {
  return dynamic_cast<const MemorySamples&>(*data.samples).images();
}

}  // namespace tacit::test
