// SPDX-License-Identifier: MIT
// Files of images, decoded: JPEG by libjpeg-turbo, PNG by libpng. Their headers are included in this folder alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/views.h"

namespace tacit {

// Why a file is no image that can be used, as the rest of a sentence about it: "it is empty".
struct BadImage : Error {
  using Error::Error;
};

struct Extent {
  int width = 0;
  int height = 0;
  std::int64_t pixels() const { return std::int64_t{width} * height; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Rows from the top, each pixel red, green and blue.
struct Picture {
  Extent extent;
  std::vector<std::uint8_t> rgb;
};

// A header is not believed that announces more: so many take 192 MiB.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

// The bytes of a file that is not empty. Throws BadImage, also for what is no file or longer than any image is.
std::vector<std::byte> read_image_file(const std::filesystem::path& file);

// What the header of a JPEG or PNG says, whatever the file is called. Throws BadImage.
Extent read_extent(ConstBytes file);

// The whole image, every byte of it read, so that a file is good or bad however small it is wanted. Grey becomes equal
// red, green and blue; palettes are looked up; 16 bits become 8; what is transparent is shown as if it were not; inks
// become light. A JPEG comes out 1, 2, 4 or 8 times as small as asked, rounded up; a PNG as large as it is.
// Throws BadImage.
Picture decode(ConstBytes file, int shrink);

}  // namespace tacit
