// SPDX-License-Identifier: MIT
#include "train/data/memory_samples.h"

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

using Table = std::array<float, 256>;

// What each byte becomes. A channel without spread holds one value, which becomes 0.
Table normalised(float mean, float spread) {
  const float scale = spread > 0 ? 1.0F / spread : 1.0F;
  Table table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = (static_cast<float>(i) / 255.0F - mean) * scale;
  return table;
}

}  // namespace

MemorySamples::MemorySamples(ImageBytes images) : images_(std::move(images)) {}

std::uint64_t MemorySamples::hash(std::uint64_t before) const {
  return hash_bytes(std::as_bytes(std::span(images_.labels)),
                    hash_bytes(std::as_bytes(std::span(images_.pixels)), before));
}

void MemorySamples::gather(const Wanted& wanted, Batch& out) {
  const std::span<const std::uint32_t> indices = wanted.indices;
  const std::size_t image = images_.shape.size();
  const auto channels = static_cast<std::size_t>(images_.shape.channels);
  const std::size_t plane = image / channels;
  out.shape = images_.shape;
  out.images.resize(indices.size() * image);
  out.labels.resize(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    TACIT_CHECK(indices[i] < size(), "no such sample");
    out.labels[i] = images_.labels[indices[i]];
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const Table table = normalised(images_.mean[c], images_.spread[c]);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto from = std::span(images_.pixels).subspan(indices[i] * image + c * plane, plane);
      std::transform(from.begin(), from.end(), out.images.data() + i * image + c * plane,
                     [&](std::uint8_t value) { return table[value]; });
    }
  }
}

Dataset in_memory(ImageBytes images) {
  const ImageShape shape = images.shape;
  const int classes = images.classes;
  return {shape, classes, std::make_unique<MemorySamples>(std::move(images))};
}

}  // namespace tacit
