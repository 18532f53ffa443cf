// SPDX-License-Identifier: MIT
#include "train/images/crop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "train/images/resample.h"

namespace tacit {
namespace {

constexpr float kSlack = 1e-2F;

TEST(Crops, LieInTheImageAndShowAsMuchAndAsWideAsTheyMay) {
  for (const Extent& image : {Extent{500, 375}, Extent{40, 400}, Extent{1, 1}, Extent{3, 64}})
    for (std::int64_t i = 0; i < 500; ++i) {
      Rng rng(1, Rng::kEveryRank, i, Rng::Use::kData);
      const Crop crop = random_crop(image, 0.08, rng);
      const auto width = static_cast<float>(image.width);
      const auto height = static_cast<float>(image.height);
      EXPECT_GE(crop.left, 0);
      EXPECT_GE(crop.top, 0);
      EXPECT_LE(crop.left + crop.width, width + kSlack);
      EXPECT_LE(crop.top + crop.height, height + kSlack);
      EXPECT_GE(crop.width * crop.height, 0.07F * std::min(width, height) * std::min(width, height));
      EXPECT_LE(crop.width / crop.height, 4.0F / 3 + kSlack);
      EXPECT_GE(crop.width / crop.height, 3.0F / 4 - kSlack);
    }
}

TEST(Crops, OfTheWholeAreaOfASquareAreTheWholeSquareOrTheLargestOfTheirShape) {
  Rng rng(1, Rng::kEveryRank, 0, Rng::Use::kData);
  const Crop crop = random_crop({100, 100}, 1, rng);
  EXPECT_FLOAT_EQ(crop.width, 100);
  EXPECT_FLOAT_EQ(crop.height, 100);
}

TEST(Crops, InTheMiddleAreSevenEighthsOfTheShorterSide) {
  const Crop crop = middle_crop({640, 256});
  EXPECT_FLOAT_EQ(crop.width, 224);
  EXPECT_FLOAT_EQ(crop.height, 224);
  EXPECT_FLOAT_EQ(crop.left, 208);
  EXPECT_FLOAT_EQ(crop.top, 16);
}

constexpr Scaling kPlain{{0, 0, 0}, {1, 1, 1}};

std::vector<float> resampled(const Picture& picture, const Crop& crop, int size) {
  std::vector<float> out(static_cast<std::size_t>(3 * size * size));
  resample(picture, crop, size, kPlain, out);
  return out;
}

Picture grey(int width, int height, const std::vector<int>& values) {
  Picture picture{{width, height}, {}};
  for (const int value : values) picture.rgb.insert(picture.rgb.end(), 3, static_cast<std::uint8_t>(value));
  return picture;
}

TEST(Resampling, ToTheSameSizeChangesNothing) {
  const Picture picture = grey(2, 2, {0, 51, 102, 255});
  const std::vector<float> out = resampled(picture, {0, 0, 2, 2}, 2);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(out[4 * c], 0);
    EXPECT_FLOAT_EQ(out[4 * c + 1], 0.2F);
    EXPECT_FLOAT_EQ(out[4 * c + 2], 0.4F);
    EXPECT_FLOAT_EQ(out[4 * c + 3], 1);
  }
  const std::vector<float> mirrored = resampled(picture, {0, 0, 2, 2, true}, 2);
  EXPECT_FLOAT_EQ(mirrored[0], 0.2F);
  EXPECT_FLOAT_EQ(mirrored[3], 0.4F);
}

// By hand: centres at 0.25, 0.75, 1.25 and 1.75 between pixels at 0.5 and 1.5.
TEST(Resampling, ToALargerSizeGoesFromPixelToPixel) {
  const std::vector<float> out = resampled(grey(2, 1, {0, 255}), {0, 0, 2, 1}, 4);
  EXPECT_FLOAT_EQ(out[0], 0);
  EXPECT_FLOAT_EQ(out[1], 0.25F);
  EXPECT_FLOAT_EQ(out[2], 0.75F);
  EXPECT_FLOAT_EQ(out[3], 1);
}

TEST(Resampling, ToASmallerSizeTakesEveryPixelIntoAccount) {
  // The more the nearer to the centre.
  const std::vector<float> out = resampled(grey(4, 4, std::vector<int>(16, 51)), {0, 0, 4, 4}, 1);
  EXPECT_FLOAT_EQ(out[0], 0.2F);
  std::vector<int> one(16, 0);
  for (const std::size_t corner : {0U, 3U, 12U, 15U}) {
    std::fill(one.begin(), one.end(), 0);
    one[corner] = 255;
    EXPECT_GT(resampled(grey(4, 4, one), {0, 0, 4, 4}, 1)[0], 0.01F);
  }
}

}  // namespace
}  // namespace tacit
