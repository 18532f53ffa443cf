// SPDX-License-Identifier: MIT
#include "train/images/image_samples.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/hash.h"
#include "images/picture.h"
#include "tacit/core/error.h"
#include "train/images/crop.h"
#include "train/images/resample.h"

namespace tacit {
namespace {

// Of ImageNet (as most programs have them), whatever the images are: a model that is evaluated, or goes on, with other
// images sees them as it saw those that it was trained on, and nothing has to be decoded before the first step.
constexpr Scaling kScaling{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};

// Two rounds: what is drawn for a sample in an epoch has an address of its own.
Rng rng_of(const Wanted& wanted, std::uint32_t index) {
  Rng epoch(wanted.seed, Rng::kEveryRank, wanted.epoch, Rng::Use::kData);
  return {epoch.next(), Rng::kEveryRank, index, Rng::Use::kData};
}

// The smallest decoding in which the crop still has as many pixels as are shown.
int shrink_for(const Crop& crop, int size) {
  const auto least = static_cast<float>(size);
  for (const int shrink : {8, 4, 2}) {
    const auto times = static_cast<float>(shrink);
    if (crop.width >= times * least && crop.height >= times * least) return shrink;
  }
  return 1;
}

Crop scaled(const Crop& crop, const Extent& from, const Extent& to) {
  const float across = static_cast<float>(to.width) / static_cast<float>(from.width);
  const float down = static_cast<float>(to.height) / static_cast<float>(from.height);
  return {crop.left * across, crop.top * down, crop.width * across, crop.height * down, crop.mirrored};
}

}  // namespace

ImageSamples::ImageSamples(ImageList files, const ImageLook& look, double bad_share, int threads)
    : files_(std::move(files)),
      look_(look),
      bad_(files_.folder().string(), files_.size(), bad_share),
      maker_({3, look.size, look.size}, threads,
             [this](const Wanted& wanted, std::size_t slot, Batch& batch) { fill(wanted, slot, batch); }) {}

std::uint64_t ImageSamples::hash(std::uint64_t before) const {
  std::uint64_t hash = before;
  for (std::size_t file = 0; file < size(); ++file) {
    const std::string name = files_.name(file);
    hash = hash_bytes(std::as_bytes(std::span(name)), hash);
    struct stat about {};
    if (::stat(files_.path(file).c_str(), &about) != 0) continue;
    const std::array<std::int64_t, 3> facts{about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
    hash = hash_bytes(std::as_bytes(std::span(facts)), hash);
  }
  return hash;
}

void ImageSamples::gather(const Wanted& wanted, Batch& out) {
  for (const std::uint32_t index : wanted.indices) TACIT_CHECK(index < size(), "no such sample");
  maker_.gather(wanted, out);
  bad_.require_few();  // also of what was begun for others
}

void ImageSamples::fill(const Wanted& wanted, std::size_t slot, Batch& batch) {
  const std::uint32_t index = wanted.indices[slot];
  const std::size_t image = batch.shape.size();
  const std::span<float> out = std::span(batch.images).subspan(slot * image, image);
  for (std::size_t next = 0; next < size(); ++next) {
    const std::size_t file = (index + next) % size();
    if (bad_.has(file)) continue;
    try {
      show(file, rng_of(wanted, index), out);
      batch.labels[slot] = files_.label(file);
      return;
    } catch (const BadImage& why) {
      bad_.add(file, files_.path(file).string(), why.what());
    }
  }
  throw InvalidConfig("none of the " + std::to_string(size()) + " images in " + files_.folder().string() +
                      " can be used; give JPEG or PNG files");
}

void ImageSamples::show(std::size_t file, Rng rng, std::span<float> out) const {
  const std::vector<std::byte> bytes = read_image_file(files_.path(file));
  const Extent whole = read_extent(bytes);
  Crop crop = look_.random_crop ? random_crop(whole, look_.area, rng) : middle_crop(whole);
  crop.mirrored = look_.flip && rng.below(2) == 1;
  const Picture picture = decode(bytes, shrink_for(crop, look_.size));
  resample(picture, scaled(crop, whole, picture.extent), look_.size, kScaling, out);
}

}  // namespace tacit
