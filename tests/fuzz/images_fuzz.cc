// SPDX-License-Identifier: MIT
// Files of images. Whatever they hold, they come out as large as their header says, or are refused; and a file is good or
// bad however small it is wanted.
#include "fuzz/target.h"
#include "images/picture.h"

namespace tacit::fuzz {
namespace {

constexpr std::int64_t kFewPixels = std::int64_t{1} << 18U;  // larger ones are bounded by memory alone

bool is_good(ConstBytes file, const Extent& extent, int shrink) {
  try {
    const Picture picture = decode(file, shrink);
    const auto pixels = static_cast<std::size_t>(picture.extent.pixels());
    TACIT_CHECK(picture.rgb.size() == 3 * pixels, "a picture has all its pixels");
    TACIT_CHECK(shrink > 1 || picture.extent == extent, "a picture is as large as its header says");
    return true;
  } catch (const BadImage&) {
    return false;
  }
}

}  // namespace
}  // namespace tacit::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tacit::ConstBytes file = std::as_bytes(std::span(data, size));
  tacit::Extent extent;
  try {
    extent = tacit::read_extent(file);
  } catch (const tacit::BadImage&) {
    return 0;
  }
  if (extent.pixels() > tacit::fuzz::kFewPixels) return 0;
  const bool good = tacit::fuzz::is_good(file, extent, 1);
  TACIT_CHECK(good == tacit::fuzz::is_good(file, extent, 8),
              "a file is good or bad however small it is wanted");
  return 0;
}
