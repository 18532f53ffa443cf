// SPDX-License-Identifier: MIT
#include "train/images/crop.h"

#include <algorithm>
#include <cmath>

namespace tacit {
namespace {

constexpr float kMostWide = 4.0F / 3.0F;
constexpr float kMostHigh = 3.0F / 4.0F;
constexpr int kTries = 10;
constexpr float kTested = 7.0F / 8.0F;

Crop in_the_middle(const Extent& image, float width, float height) {
  return {(static_cast<float>(image.width) - width) / 2, (static_cast<float>(image.height) - height) / 2,
          width, height};
}

}  // namespace

Crop random_crop(const Extent& image, double least_area, Rng& rng) {
  const auto width = static_cast<float>(image.width);
  const auto height = static_cast<float>(image.height);
  const auto least = static_cast<float>(least_area);
  for (int i = 0; i < kTries; ++i) {
    const float area = width * height * (least + (1 - least) * rng.uniform());
    // As often wide as high.
    const float ratio = kMostHigh * std::pow(kMostWide / kMostHigh, rng.uniform());
    const float wide = std::sqrt(area * ratio);
    const float high = std::sqrt(area / ratio);
    const float left = rng.uniform();
    const float top = rng.uniform();
    if (wide <= width && high <= height) return {left * (width - wide), top * (height - high), wide, high};
  }
  return in_the_middle(image, std::min(width, kMostWide * height), std::min(height, width / kMostHigh));
}

Crop middle_crop(const Extent& image) {
  const float side = kTested * static_cast<float>(std::min(image.width, image.height));
  return in_the_middle(image, side, side);
}

}  // namespace tacit
