// SPDX-License-Identifier: MIT
#include "adapters/torch/weight_sample.h"

#include <algorithm>
#include <cstring>

namespace tacit::torch {
namespace {

constexpr std::size_t kAll = 1024;
constexpr std::size_t kFewest = 4;  // of one tensor
constexpr std::uint64_t kPrime = 7919;

// A weight that is not a number is equal to itself.
bool same(const float& a, const float& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

WeightSample::WeightSample(std::span<const Slice> tensors)
    : tensors_(tensors.begin(), tensors.end()),
      per_tensor_(std::max(kFewest, kAll / std::max<std::size_t>(1, tensors.size()))) {}

// visit(tensor, where) for each sampled weight: one out of each of so many equal stretches.
template <class Visit>
void WeightSample::each(const Visit& visit) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::size_t count = std::min(per_tensor_, tensors_[i].count);
    if (count == 0) continue;
    const std::size_t stretch = tensors_[i].count / count;
    const std::size_t first = tensors_[i].offset + t_ * kPrime % stretch;
    for (std::size_t k = 0; k < count; ++k) visit(i, first + k * stretch);
  }
}

void WeightSample::take(ConstFloatView params, std::int64_t t) {
  t_ = static_cast<std::uint64_t>(t);
  values_.clear();
  each([&, from = params.host()](std::size_t, std::size_t where) { values_.push_back(from[where]); });
}

std::optional<std::size_t> WeightSample::changed(ConstFloatView params) const {
  std::optional<std::size_t> found;
  std::size_t k = 0;
  each([&, now = params.host()](std::size_t tensor, std::size_t where) {
    if (!found && !same(values_[k], now[where])) found = tensor;
    ++k;
  });
  return found;
}

}  // namespace tacit::torch
