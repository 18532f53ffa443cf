// SPDX-License-Identifier: MIT
#include "train/score.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tacit {
namespace {

constexpr std::size_t kEvaluationBatch = 256;

std::vector<std::uint32_t> batch_from(std::size_t at, std::size_t end) {
  std::vector<std::uint32_t> indices(std::min(kEvaluationBatch, end - at));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(at));
  return indices;
}

}  // namespace

Score score_samples(Model& model, const Dataset& data, Slice samples, Batch& batch) {
  const std::size_t end = samples.offset + samples.count;
  Score score;
  for (std::size_t at = samples.offset; at < end; at += kEvaluationBatch) {
    gather(data, batch_from(at, end), batch);
    if (at + kEvaluationBatch < end) data.samples->expect({batch_from(at + kEvaluationBatch, end)});
    score += model.evaluate(batch);
  }
  return score;
}

}  // namespace tacit
