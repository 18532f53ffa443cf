// SPDX-License-Identifier: MIT
#pragma once

#include "images/picture.h"

namespace tacit {

// As read_extent() and decode(), for files that begin like one of the format.
Extent read_jpeg_extent(ConstBytes file);
Picture decode_jpeg(ConstBytes file, int shrink);
Extent read_png_extent(ConstBytes file);
Picture decode_png(ConstBytes file);

// Throws BadImage for more than kMostPixels.
void require_few_pixels(const Extent& extent);

}  // namespace tacit
