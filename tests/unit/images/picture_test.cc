// SPDX-License-Identifier: MIT
// Files of images come out as red, green and blue, whatever they hold; spoilt ones are refused with the reason.
#include "images/picture.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "support/image_files.h"
#include "support/refusal.h"
#include "support/temp_dir.h"

namespace tacit {
namespace {

using test::flat_image;
using test::ImageFileBytes;
using test::jpeg_of;
using test::PngForm;
using test::RawImage;
using test::smooth_image;

ConstBytes bytes_of(const ImageFileBytes& file) { return std::as_bytes(std::span(file)); }

ImageFileBytes png_of(const RawImage& image, const PngForm& form = {}) {
  const test::TempDir dir;
  test::write_png(dir.path() / "image", image, form);
  return test::read_whole_file(dir.path() / "image");
}

Picture decoded(const ImageFileBytes& file, int shrink = 1) { return decode(bytes_of(file), shrink); }

std::string why_bad(const ImageFileBytes& file) {
  return test::refusal<BadImage>([&] { decoded(file); });
}

void expect_flat(const Picture& picture, const std::array<int, 3>& pixel, int tolerance) {
  ASSERT_FALSE(picture.rgb.empty());
  for (std::size_t i = 0; i < picture.rgb.size(); ++i)
    ASSERT_NEAR(picture.rgb[i], pixel[i % 3], tolerance) << i;
}

TEST(Png, OfColoursComesOutAsItWent) {
  const RawImage image = smooth_image(23, 17, 1);
  for (const bool interlaced : {false, true}) {
    const ImageFileBytes file = png_of(image, {.interlaced = interlaced});
    EXPECT_EQ(read_extent(bytes_of(file)), (Extent{23, 17}));
    const Picture picture = decoded(file);
    EXPECT_EQ(picture.extent, (Extent{23, 17}));
    EXPECT_EQ(picture.rgb, image.values);
  }
}

TEST(Png, OfGreyHasThreeEqualChannels) {
  expect_flat(decoded(png_of(flat_image(5, 4, {77}), {.color_type = PNG_COLOR_TYPE_GRAY})), {77, 77, 77}, 0);
  // Eight pixels to a byte, and two bytes of grey and alpha to a pixel.
  expect_flat(decoded(png_of({8, 2, 1, {0xFF, 0xFF}}, {.color_type = PNG_COLOR_TYPE_GRAY, .bits = 1})),
              {255, 255, 255}, 0);
  expect_flat(decoded(png_of(flat_image(5, 4, {77, 9}), {.color_type = PNG_COLOR_TYPE_GRAY_ALPHA})),
              {77, 77, 77}, 0);
}

TEST(Png, OfAPaletteHasItsColours) {
  const PngForm form{.color_type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {200, 100, 50}}};
  expect_flat(decoded(png_of(flat_image(6, 3, {1}), form)), {200, 100, 50}, 0);
}

TEST(Png, WithAlphaIsShownAsIfItWereNotTransparent) {
  expect_flat(decoded(png_of(flat_image(6, 3, {10, 20, 30, 0}), {.color_type = PNG_COLOR_TYPE_RGB_ALPHA})),
              {10, 20, 30}, 0);
}

TEST(Png, OfSixteenBitsKeepsTheUpperEight) {
  const RawImage image = flat_image(4, 4, {10, 10, 20, 20, 255, 255});  // 257 times 10, 20, 255
  expect_flat(decoded(png_of(image, {.bits = 16})), {10, 20, 255}, 0);
}

TEST(Png, IsNotShrunk) { EXPECT_EQ(decoded(png_of(smooth_image(64, 48, 1)), 8).extent, (Extent{64, 48})); }

TEST(Jpeg, OfColoursComesOutAboutAsItWent) {
  const ImageFileBytes file = jpeg_of(flat_image(20, 10, {200, 100, 50}));
  EXPECT_EQ(read_extent(bytes_of(file)), (Extent{20, 10}));
  expect_flat(decoded(file), {200, 100, 50}, 3);
}

TEST(Jpeg, OfGreyHasThreeEqualChannels) {
  expect_flat(decoded(jpeg_of(flat_image(9, 9, {140}))), {140, 140, 140}, 2);
}

// Adobe's files, as the library writes them, hold what the inks let through.
TEST(Jpeg, OfInksBecomesLight) {
  expect_flat(decoded(jpeg_of(flat_image(16, 16, {255, 128, 64, 255}))), {255, 128, 64}, 3);
  expect_flat(decoded(jpeg_of(flat_image(16, 16, {255, 128, 64, 128}))), {128, 64, 32}, 3);
}

TEST(Jpeg, IsDecodedSmallerWhereThatIsEnough) {
  const ImageFileBytes file = jpeg_of(flat_image(65, 48, {200, 100, 50}));
  EXPECT_EQ(decoded(file, 2).extent, (Extent{33, 24}));
  const Picture small = decoded(file, 8);
  EXPECT_EQ(small.extent, (Extent{9, 6}));
  expect_flat(small, {200, 100, 50}, 3);
}

TEST(BadImages, ThatEndAnywhereBeforeTheirEndAreRefused) {
  for (const ImageFileBytes& whole : {png_of(smooth_image(20, 20, 1)), jpeg_of(smooth_image(20, 20, 1))})
    for (std::size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(size);
      EXPECT_THROW(decoded({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), BadImage);
    }
}

TEST(BadImages, SayWhatIsWrongWithThem) {
  test::expect_parts(why_bad({'G', 'I', 'F', '8', '9', 'a'}), {"neither a JPEG nor a PNG"});
  ImageFileBytes png = png_of(smooth_image(20, 20, 1));
  test::expect_parts(why_bad({png.begin(), png.end() - 20}), {"spoilt", "ends early"});
  png[png.size() / 2] ^= 0xFFU;
  test::expect_parts(why_bad(png), {"spoilt"});
  const ImageFileBytes jpeg = jpeg_of(smooth_image(20, 20, 1));
  test::expect_parts(why_bad({jpeg.begin(), jpeg.end() - 20}), {"spoilt", "end"});
}

// The two bytes each of height and width behind the marker, the length and the bits of a frame.
TEST(BadImages, WhoseHeaderAnnouncesTooMuchAreRefusedBeforeMemoryIsTaken) {
  ImageFileBytes jpeg = jpeg_of(smooth_image(20, 20, 1));
  const std::array<std::uint8_t, 2> marker{0xFF, 0xC0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  ASSERT_NE(frame, jpeg.end());
  std::fill(frame + 5, frame + 9, std::uint8_t{0xF0});
  test::expect_parts(why_bad(jpeg), {"61680 x 61680 pixels", "more than 67108864"});
  // A picture of one colour has few bytes, however large it is.
  const RawImage wide{8193, 8192, 1, ImageFileBytes(std::size_t{1025} * 8192)};
  test::expect_parts(why_bad(png_of(wide, {.color_type = PNG_COLOR_TYPE_GRAY, .bits = 1})),
                     {"8193 x 8192 pixels"});
}

TEST(BadImages, ThatCannotBeReadSayWhy) {
  const test::TempDir dir;
  const auto why = [&](const char* name) {
    return test::refusal<BadImage>([&] { read_image_file(dir.path() / name); });
  };
  test::write_file(dir.path() / "empty", {});
  test::expect_parts(why("empty"), {"it is empty"});
  test::expect_parts(why("missing"), {"it cannot be read", "No such file"});
  test::expect_parts(why("."), {"not a regular file"});
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  test::expect_parts(why("pipe"), {"not a regular file"});  // and nobody waits for its other end
}

}  // namespace
}  // namespace tacit
