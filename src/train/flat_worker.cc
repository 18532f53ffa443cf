// SPDX-License-Identifier: MIT
#include "train/flat_worker.h"

#include "means/momentum_place.h"

namespace tacit {

std::span<const std::uint32_t> FlatWorker::own_samples() {
  const std::int64_t per_epoch = parts_.sampler.steps_per_epoch();
  const std::int64_t step = t() + origin_;
  if (parts_.shard != nullptr) return parts_.shard->indices(step);
  return parts_.sampler.indices(step / per_epoch, step % per_epoch, rank());
}

void FlatWorker::compute(const Model::Ready& ready) {
  gather(parts_.data, own_samples(), batch_);
  loss_ = parts_.model.compute_gradient(batch_, ready);
}

void FlatWorker::compute_again(std::optional<std::int64_t> piece) {
  const TimeAccount::Computation computing(parts_.times);
  const std::int64_t per_epoch = parts_.sampler.steps_per_epoch();
  const std::int64_t step = t() + origin_;
  if (piece)
    gather(parts_.data, parts_.sampler.piece(step / per_epoch, step % per_epoch, *piece, pieces()), batch_);
  loss_ = parts_.model.compute_gradient(batch_);
}

void FlatWorker::apply(ConstFloatView g, FloatView x) {
  const TimeAccount::Computation computing(parts_.times);
  parts_.optimizer.step(g, lr(), x);
}

double FlatWorker::place_momentum(const MomentumRule& rule) {
  if (!asked_) return 0;
  const MomentumPlace place = rule(*asked_);
  parts_.optimizer.set_sgd(left_inside(place, *asked_));
  return place == MomentumPlace::kInFront ? asked_->momentum : 0;
}

}  // namespace tacit
