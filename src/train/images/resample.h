// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>

#include "train/images/crop.h"

namespace tacit {

// Per channel, of values from 0 to 1.
struct Scaling {
  std::array<float, 3> mean{};
  std::array<float, 3> spread{};
};

// A square of `size` pixels a side from a rectangle of a picture, channel by channel, scaled to zero mean and unit
// spread. Each pixel is a mean that falls off linearly over its own width to both sides, or over that of the picture's
// pixels where they are wider.
void resample(const Picture& from, const Crop& crop, int size, const Scaling& scaling, std::span<float> out);

}  // namespace tacit
