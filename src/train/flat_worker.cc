// SPDX-License-Identifier: MIT
#include "train/flat_worker.h"

#include <algorithm>

#include "means/momentum_place.h"

namespace tacit {

Wanted FlatWorker::own_samples(std::int64_t step, int rank, Sampler& all, ShardSampler* shard) {
  return shard != nullptr ? shard->wanted(step) : all.wanted(step, rank);
}

void FlatWorker::compute(const Model::Ready& ready) {
  const std::int64_t step = t() + origin_;
  parts_.data.samples->gather(own_samples(step, rank(), parts_.sampler, parts_.shard), batch_);
  look_ahead(step);
  loss_ = parts_.model.compute_gradient(batch_, ready);
}

void FlatWorker::look_ahead(std::int64_t step) {
  const int ahead = parts_.data.samples->batches_ahead();
  if (ahead == 0) return;
  if (!ahead_) ahead_.emplace(parts_.sampler);
  if (!shard_ahead_ && parts_.shard != nullptr) shard_ahead_.emplace(*parts_.shard);
  expected_ = std::max(expected_, step + 1);
  for (; expected_ <= step + ahead && expected_ < parts_.total; ++expected_)
    parts_.data.samples->expect(
        own_samples(expected_, rank(), *ahead_, shard_ahead_ ? &*shard_ahead_ : nullptr));
}

void FlatWorker::compute_again(std::optional<std::int64_t> piece) {
  const TimeAccount::Computation computing(parts_.times);
  if (piece)
    parts_.data.samples->gather(parts_.sampler.wanted_piece(t() + origin_, *piece, pieces()), batch_);
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
