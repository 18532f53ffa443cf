// SPDX-License-Identifier: MIT
#include "train/score.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tacit {
namespace {

constexpr std::size_t kEvaluationBatch = 256;

}  // namespace

Score score_samples(Model& model, const Dataset& data, Slice samples, Batch& batch) {
  const std::size_t end = samples.offset + samples.count;
  Score score;
  for (std::size_t at = samples.offset; at < end; at += kEvaluationBatch) {
    std::vector<std::uint32_t> indices(std::min(kEvaluationBatch, end - at));
    std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(at));
    gather(data, indices, batch);
    score += model.evaluate(batch);
  }
  return score;
}

}  // namespace tacit
