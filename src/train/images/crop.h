// SPDX-License-Identifier: MIT
// Which part of an image a sample shows.
#pragma once

#include "images/picture.h"
#include "tacit/core/rng.h"

namespace tacit {

// A rectangle in the pixels of an image, from its top left corner.
struct Crop {
  float left = 0;
  float top = 0;
  float width = 0;
  float height = 0;
  bool mirrored = false;  // left and right change places
};

// Random resized crops -- C. Szegedy et al., "Going Deeper with Convolutions", CVPR 2015, arXiv:1409.4842, section 6: a
// share of the area between `least_area` and all of it, as wide as 3/4 to 4/3 of its height, anywhere. In an image in
// which ten of those do not fit, the largest in its middle that is neither wider nor higher than that.
Crop random_crop(const Extent& image, double least_area, Rng& rng);

// The square in the middle of which a test is made: 7/8 of the shorter side, as 224 of 256 pixels are.
Crop middle_crop(const Extent& image);

}  // namespace tacit
