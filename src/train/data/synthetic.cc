// SPDX-License-Identifier: MIT
#include "train/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

constexpr int kWaves = 4;
constexpr std::uint64_t kFrequencies = 4;  // 0 to 3 periods across the image: smooth
constexpr float kContrast = 0.25F;         // root mean square of a prototype around grey
constexpr std::int64_t kMaxBytes = (std::int64_t{1} << 31) - 1;

// Addresses of the random draws: class c at c, sample i of a part at the part's first address + i.
constexpr std::int64_t kTrainAddress = std::int64_t{1} << 32;
constexpr std::int64_t kTestAddress = std::int64_t{2} << 32;

using Image = std::vector<float>;

Rng rng_at(std::uint64_t seed, std::int64_t address) {
  return {seed, Rng::kEveryRank, address, Rng::Use::kData};
}

void add_wave(Rng& rng, int size, std::span<float> plane) {
  constexpr float kTurn = 2.0F * std::numbers::pi_v<float>;
  // A cosine has a mean square of 1/2.
  const float amplitude = kContrast * std::sqrt(2.0F / static_cast<float>(kWaves));
  const auto down = static_cast<float>(rng.below(kFrequencies));
  const auto across = static_cast<float>(1 + rng.below(kFrequencies - 1));  // never constant
  const float phase = rng.uniform();
  const float period = static_cast<float>(size);
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const float turns = (down * static_cast<float>(y) + across * static_cast<float>(x)) / period + phase;
      plane[static_cast<std::size_t>(y) * static_cast<std::size_t>(size) + static_cast<std::size_t>(x)] +=
          amplitude * std::cos(kTurn * turns);
    }
}

Image prototype(const SyntheticOptions& o, int label) {
  const auto plane = static_cast<std::size_t>(o.size) * static_cast<std::size_t>(o.size);
  Image image(plane * static_cast<std::size_t>(o.channels), 0.5F);
  Rng rng = rng_at(o.seed, label);
  for (std::size_t begin = 0; begin < image.size(); begin += plane)
    for (int wave = 0; wave < kWaves; ++wave) add_wave(rng, o.size, std::span(image).subspan(begin, plane));
  return image;
}

std::uint8_t to_byte(float x) {
  return static_cast<std::uint8_t>(std::lround(255.0F * std::clamp(x, 0.0F, 1.0F)));
}

ImageBytes draw(const SyntheticOptions& o, std::span<const Image> prototypes, std::int64_t count,
                std::int64_t address) {
  ImageBytes data;
  data.shape = {o.channels, o.size, o.size};
  data.classes = o.classes;
  data.pixels.reserve(static_cast<std::size_t>(count) * data.shape.size());
  const auto noise = static_cast<float>(o.noise);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint8_t>(i % o.classes);
    Rng rng = rng_at(o.seed, address + i);
    for (const float x : prototypes[label]) data.pixels.push_back(to_byte(x + noise * rng.normal()));
    data.labels.push_back(label);
  }
  return data;
}

}  // namespace

SyntheticOptions read_synthetic_options(OptionReader& options) {
  SyntheticOptions o;
  o.samples = options.integer("samples", o.samples, 1, 10'000'000, {"training samples"});
  o.test = options.integer("test", o.test, 1, 10'000'000, {"test samples"});
  o.classes = static_cast<int>(options.integer("classes", o.classes, 2, 256, {"classes"}));
  o.channels = static_cast<int>(options.integer("channels", o.channels, 1, 3, {"channels of an image"}));
  o.size = static_cast<int>(options.integer("size", o.size, 4, 512, {"pixels along each side of an image"}));
  o.noise = options.number("noise", o.noise, 0, 10,
                           {"spread of the noise, where prototypes have values from 0 to 1"});
  o.seed = static_cast<std::uint64_t>(
      options.integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max(), {"of prototypes and noise"}));
  const std::int64_t image = std::int64_t{o.channels} * o.size * o.size;
  if (const std::int64_t most = kMaxBytes / image; o.samples + o.test > most)
    throw InvalidConfig("synthetic: samples=" + std::to_string(o.samples) +
                        " and test=" + std::to_string(o.test) + " take more than 2 GiB; make them " +
                        std::to_string(most) + " or less together, or the images smaller");
  return o;
}

BytesPair make_synthetic(const SyntheticOptions& options) {
  std::vector<Image> prototypes;
  for (int label = 0; label < options.classes; ++label) prototypes.push_back(prototype(options, label));
  return {draw(options, prototypes, options.samples, kTrainAddress),
          draw(options, prototypes, options.test, kTestAddress)};
}

}  // namespace tacit
