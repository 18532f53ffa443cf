// SPDX-License-Identifier: MIT
#include "images/picture.h"

#include <algorithm>
#include <array>
#include <string>

#include "images/formats.h"

namespace tacit {
namespace {

constexpr std::array<unsigned char, 3> kJpegBegin{0xFF, 0xD8, 0xFF};
constexpr std::array<unsigned char, 8> kPngBegin{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

bool begins_with(ConstBytes file, std::span<const unsigned char> begin) {
  return file.size() >= begin.size() &&
         std::equal(begin.begin(), begin.end(), file.begin(),
                    [](unsigned char a, std::byte b) { return a == std::to_integer<unsigned char>(b); });
}

bool is_jpeg(ConstBytes file) {
  if (begins_with(file, kJpegBegin)) return true;
  if (begins_with(file, kPngBegin)) return false;
  throw BadImage("it is neither a JPEG nor a PNG");
}

}  // namespace

void require_few_pixels(const Extent& extent) {
  if (extent.pixels() <= kMostPixels) return;
  throw BadImage("its header announces " + std::to_string(extent.width) + " x " +
                 std::to_string(extent.height) + " pixels, which is more than " +
                 std::to_string(kMostPixels));
}

Extent read_extent(ConstBytes file) { return is_jpeg(file) ? read_jpeg_extent(file) : read_png_extent(file); }

Picture decode(ConstBytes file, int shrink) {
  return is_jpeg(file) ? decode_jpeg(file, shrink) : decode_png(file);
}

}  // namespace tacit
