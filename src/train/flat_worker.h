// SPDX-License-Identifier: MIT
// A Worker over a Model, a flat optimiser and a data set.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "tacit/train/dataset.h"
#include "tacit/train/model.h"
#include "tacit/train/replica_worker.h"
#include "train/data/shards.h"
#include "train/schedule.h"
#include "train/time_account.h"

namespace tacit {

// Lifetime  all that it is given must outlive it.
class FlatWorker final : public ReplicaWorker {
 public:
  struct Parts {
    Model& model;
    Optimizer& optimizer;
    const Schedule& schedule;
    double lr;           // times the schedule's factor
    std::int64_t total;  // steps
    const Dataset& data;
    Sampler& sampler;
    TimeAccount& times;
    ShardSampler* shard = nullptr;  // what this rank draws from, where not from all samples
  };
  FlatWorker(Process& process, std::uint64_t seed, const Parts& parts)
      : ReplicaWorker(process, seed), parts_(parts), asked_(parts.optimizer.sgd()) {}

  // The gradient of step t() at params(), of this rank's mini-batch.
  void compute(const Model::Ready& ready = [](Slice) {});

  // A run that goes on from a model alone: the strategy begins anew, with its step 0, where so many of the run are done.
  void set_origin(std::int64_t steps_done) { origin_ = steps_done; }
  std::int64_t origin() const { return origin_; }
  std::int64_t steps_of_run() const { return parts_.total; }

  std::int64_t total() const override { return parts_.total - origin_; }
  using Worker::lr;
  float lr(std::int64_t t) const override {
    return static_cast<float>(parts_.lr * parts_.schedule.factor(t + origin_, parts_.total));
  }
  FloatView params() override { return parts_.model.params(); }
  FloatView gradient() override { return parts_.model.gradient(); }
  double loss() const override { return loss_; }
  using Worker::apply;
  void apply(ConstFloatView g, FloatView x) override;
  OptimizerState& optimizer() override { return parts_.optimizer; }
  std::unique_ptr<Optimizer> new_optimizer() const override { return parts_.optimizer.fresh(); }
  std::span<const Slice> tensors() const override { return parts_.model.tensors(); }
  std::span<const std::size_t> rows() const override { return parts_.model.rows(); }
  std::span<const FloatView> buffers() override { return parts_.model.buffers(); }

 private:
  static Wanted own_samples(std::int64_t step, int rank, Sampler& all, ShardSampler* shard);
  // Tells the data of the steps after this one, so that it can begin with them while this one is computed.
  void look_ahead(std::int64_t step);
  void compute_again(std::optional<std::int64_t> piece) override;
  double place_momentum(const MomentumRule& rule) override;

  const Parts parts_;
  const std::optional<SgdSettings> asked_;  // of the optimiser
  std::int64_t origin_ = 0;
  std::optional<Sampler> ahead_;             // of steps to come, which may be in the next epoch
  std::optional<ShardSampler> shard_ahead_;  // likewise
  std::int64_t expected_ = 0;                // the first step that the data was not told of
  Batch batch_;                              // that gradient() is of
  double loss_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tacit
