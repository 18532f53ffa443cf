// SPDX-License-Identifier: MIT
#include "tacit/train/replica_worker.h"

namespace tacit {

EvaluationPoint::EvaluationPoint(ReplicaWorker& worker, Strategy& strategy)
    : worker_(worker), params_(worker.params().begin(), worker.params().end()) {
  for (const FloatView b : worker.buffers()) buffers_.emplace_back(b.begin(), b.end());
  std::vector<float> point(params_.size());
  worker.control_ = true;
  strategy.model(worker, point);
  worker.average_buffers();
  worker.control_ = false;
  copy(point, worker.params());
}

EvaluationPoint::~EvaluationPoint() {
  copy(params_, worker_.params());
  for (std::size_t i = 0; i < buffers_.size(); ++i) copy(buffers_[i], worker_.buffers()[i]);
}

}  // namespace tacit
