// SPDX-License-Identifier: MIT
#include "tacit/train/replica_worker.h"

namespace tacit {

EvaluationPoint::EvaluationPoint(ReplicaWorker& worker, Strategy& strategy) : worker_(worker) {
  params_.assign(worker.params());
  for (const FloatView b : worker.buffers()) buffers_.emplace_back(Kept{b, {}}).values.assign(b);
  const Seconds start = worker.process_.tasks().clock().now();
  Buffer point(worker.params());
  {
    struct Control {  // also where what follows throws
      explicit Control(bool& on) : on_(on) { on_ = true; }
      ~Control() { on_ = false; }
      Control(const Control&) = delete;
      Control& operator=(const Control&) = delete;
      bool& on_;
    } const control(worker.control_);
    strategy.model(worker, point.view());
    worker.average_buffers();
  }
  point.give(worker.params());
  worker.evaluating_since_ = start;
}

EvaluationPoint::~EvaluationPoint() {
  worker_.evaluated_ = worker_.evaluated();
  worker_.evaluating_since_.reset();
  params_.give(worker_.params());
  const std::span<const FloatView> now = worker_.buffers();
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (now[i].is(buffers_[i].place)) buffers_[i].values.give(now[i]);
}

}  // namespace tacit
