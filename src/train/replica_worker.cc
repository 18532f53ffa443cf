// SPDX-License-Identifier: MIT
#include "tacit/train/replica_worker.h"

#include "means/make_mean.h"

namespace tacit {

void ReplicaWorker::set_compress(const std::string& spec) {
  compress_.reset();
  if (!spec.empty()) compress_ = Compression::parse(spec);
}

std::unique_ptr<Mean> ReplicaWorker::make_mean(const MeanOptions& options) {
  return tacit::make_mean(*this, options, compress_);
}

EvaluationPoint::EvaluationPoint(ReplicaWorker& worker, Strategy& strategy)
    : worker_(worker), params_(worker.params().begin(), worker.params().end()) {
  for (const FloatView b : worker.buffers()) buffers_.push_back({b.data(), {b.begin(), b.end()}});
  const Seconds start = worker.process_.tasks().clock().now();
  std::vector<float> point(params_.size());
  {
    struct Control {  // also where what follows throws
      explicit Control(bool& on) : on_(on) { on_ = true; }
      ~Control() { on_ = false; }
      Control(const Control&) = delete;
      Control& operator=(const Control&) = delete;
      bool& on_;
    } const control(worker.control_);
    strategy.model(worker, point);
    worker.average_buffers();
  }
  copy(point, worker.params());
  worker.evaluating_since_ = start;
}

EvaluationPoint::~EvaluationPoint() {
  worker_.evaluated_ = worker_.evaluated();
  worker_.evaluating_since_.reset();
  copy(params_, worker_.params());
  const std::span<const FloatView> now = worker_.buffers();
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (now[i].data() == buffers_[i].place) copy(buffers_[i].values, now[i]);
}

}  // namespace tacit
