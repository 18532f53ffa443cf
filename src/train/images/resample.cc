// SPDX-License-Identifier: MIT
#include "train/images/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tacit {
namespace {

constexpr std::size_t kChannels = 3;

// Of which pixels along one side of a picture each pixel of the square is a mean, with what weights.
struct Means {
  std::vector<int> first;
  std::vector<int> count;
  std::vector<float> weights;  // `most` for each
  std::size_t most = 0;

  std::span<const float> of(int pixel) const {
    const auto at = static_cast<std::size_t>(pixel);
    return std::span(weights).subspan(at * most, static_cast<std::size_t>(count[at]));
  }
};

Means means_along(float begin, float length, int pixels, int size) {
  const float step = length / static_cast<float>(size);
  const float reach = std::max(1.0F, step);
  Means means;
  means.most = static_cast<std::size_t>(2 * std::ceil(reach)) + 1;
  means.weights.resize(static_cast<std::size_t>(size) * means.most);
  for (int i = 0; i < size; ++i) {
    const float centre = begin + (static_cast<float>(i) + 0.5F) * step;
    const int first = std::clamp(static_cast<int>(std::floor(centre - reach + 0.5F)), 0, pixels - 1);
    const int end = std::clamp(static_cast<int>(std::floor(centre + reach + 0.5F)), first + 1, pixels);
    const int count = std::min(end - first, static_cast<int>(means.most));
    float* const weights = means.weights.data() + static_cast<std::size_t>(i) * means.most;
    float sum = 0;
    for (int k = 0; k < count; ++k) {
      const float away = std::abs(static_cast<float>(first + k) + 0.5F - centre) / reach;
      weights[k] = std::max(0.0F, 1 - away);
      sum += weights[k];
    }
    // None where the pixel that is nearest lies at the very edge of the reach.
    for (int k = 0; k < count; ++k) weights[k] = sum > 0 ? weights[k] / sum : 1 / static_cast<float>(count);
    means.first.push_back(first);
    means.count.push_back(count);
  }
  return means;
}

// The rows from `begin` on, each as wide as the square: red, green and blue of each pixel.
std::vector<float> squeeze(const Picture& from, const Means& across, int begin, int end) {
  const std::size_t size = across.first.size();
  std::vector<float> rows(static_cast<std::size_t>(end - begin) * size * kChannels);
  const auto width = static_cast<std::size_t>(from.extent.width);
  for (int y = begin; y < end; ++y) {
    const std::uint8_t* const row = from.rgb.data() + static_cast<std::size_t>(y) * width * kChannels;
    float* out = rows.data() + static_cast<std::size_t>(y - begin) * size * kChannels;
    for (std::size_t x = 0; x < size; ++x, out += kChannels) {
      const std::uint8_t* pixel = row + static_cast<std::size_t>(across.first[x]) * kChannels;
      for (const float weight : across.of(static_cast<int>(x))) {
        for (std::size_t c = 0; c < kChannels; ++c) out[c] += weight * static_cast<float>(pixel[c]);
        pixel += kChannels;
      }
    }
  }
  return rows;
}

}  // namespace

void resample(const Picture& from, const Crop& crop, int size, const Scaling& scaling, std::span<float> out) {
  const Means across = means_along(crop.left, crop.width, from.extent.width, size);
  const Means down = means_along(crop.top, crop.height, from.extent.height, size);
  const int begin = down.first.front();
  const std::vector<float> rows = squeeze(from, across, begin, down.first.back() + down.count.back());
  const auto side = static_cast<std::size_t>(size);
  std::vector<float> line(side * kChannels);
  for (std::size_t y = 0; y < side; ++y) {
    std::fill(line.begin(), line.end(), 0.0F);
    const float* row = rows.data() + static_cast<std::size_t>(down.first[y] - begin) * line.size();
    for (const float weight : down.of(static_cast<int>(y))) {
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += weight * row[i];
      row += line.size();
    }
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t x = 0; x < side; ++x) {
        const float value = line[x * kChannels + c] / 255.0F;
        const std::size_t at = crop.mirrored ? side - 1 - x : x;
        out[(c * side + y) * side + at] = (value - scaling.mean[c]) / scaling.spread[c];
      }
  }
}

}  // namespace tacit
