// SPDX-License-Identifier: MIT
// What every Worker over a Process shares; who trains what, and how, is the derived class's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/strategy/strategy.h"
#include "tacit/strategy/worker.h"
#include "tacit/world/world.h"

namespace tacit {

// Lifetime  process must outlive it. Threads: the trainer's task.
class ReplicaWorker : public Worker {
 public:
  ReplicaWorker(Process& process, std::uint64_t seed) : process_(process), seed_(seed) {}

  int rank() const final { return process_.rank(); }
  int size() const final { return process_.size(); }
  std::int64_t t() const final { return t_; }
  Comm& comm() final { return control_ ? process_.control() : process_.comm(); }
  Tasks& tasks() final { return process_.tasks(); }
  Rng rng(Rng::Use use) const final { return {seed_, rank(), t_, use}; }
  std::span<const Slice> buckets() const final { return buckets_; }
  // These put the momentum of the inner optimiser where it belongs (docs/compression.md).
  std::unique_ptr<Mean> make_mean(const MeanOptions& options) final;
  std::vector<std::unique_ptr<PushCodec>> make_push_codecs(int servers) final;

  void gradient_at(ConstFloatView x) final;
  void gradient_of(std::int64_t piece) final;

  // State that is not trained, such as a batch norm's statistics.
  virtual std::span<const FloatView> buffers() = 0;

  void set_t(std::int64_t t) { t_ = t; }
  // What means compress with (`topk:ratio=0.01,ef`; empty: nothing), from whoever made the strategy, before it starts.
  void set_compress(const std::string& spec);
  // The buckets of which the strategy is told one by one (Strategy::ready), before it starts. None where it is not.
  void set_buckets(std::span<const Slice> buckets) { buckets_.assign(buckets.begin(), buckets.end()); }
  // Strategy::pieces, from whoever made the strategy.
  void set_pieces(int pieces) { pieces_ = pieces; }
  int pieces() const { return pieces_; }
  // Whether an EvaluationPoint is in the training point's place.
  bool evaluating() const { return evaluating_since_.has_value(); }
  // How long there was one, so far.
  Seconds evaluated() const {
    return evaluated_ + (evaluating() ? process_.tasks().clock().now() - *evaluating_since_ : Seconds(0));
  }
  // Makes buffers equal everywhere, at the end of a run. Collective.
  void average_buffers() {
    for (const FloatView b : buffers()) comm().mean(b);
  }

 private:
  friend class EvaluationPoint;
  // Puts the momentum of the inner SGD where the rule says, from what its user asked for, and returns the one that has to
  // go in front of the compressor, or 0. Another optimiser keeps what it has.
  virtual double place_momentum(const MomentumRule&) { return 0; }
  // The run's compressor, with the momentum that belongs in front of it.
  std::optional<Compression> with_momentum(Sends sends);

  // gradient() and loss() become those, at params(), of this step's mini-batch or of a piece of its global batch. Throws
  // InvalidConfig that says what to give where the loop has no way to do so; unless overridden, always.
  virtual void compute_again(std::optional<std::int64_t> piece);

  Process& process_;
  const std::uint64_t seed_;
  std::int64_t t_ = 0;
  std::optional<Compression> compress_;
  std::optional<MomentumPlace> placed_;  // where means that were made since then want it
  std::vector<Slice> buckets_;
  int pieces_ = 0;
  std::optional<Seconds> evaluating_since_;
  Seconds evaluated_{0};
  bool control_ = false;  // whether comm() is the control lane, which is counted apart
};

// The training point, params() and buffers(), as it was when this was made: there again when this is dropped.
class TrainingPoint {
 public:
  explicit TrainingPoint(ReplicaWorker& worker);
  ~TrainingPoint();
  TrainingPoint(const TrainingPoint&) = delete;
  TrainingPoint& operator=(const TrainingPoint&) = delete;

 private:
  ReplicaWorker& worker_;
  Buffer params_;
  struct Kept {
    explicit Kept(FloatView x) : place(x) { values.assign(x); }
    const ConstFloatView place;  // a buffer that was given other memory since then is left as it is
    Buffer values;
  };
  std::vector<Kept> buffers_;
};

// The strategy's model() and averaged buffers in place of the training point, for as long as it lives. Its
// traffic goes over the control lane: evaluating is not part of what an algorithm costs. Made by all ranks
// together. One at a time.
class EvaluationPoint {
 public:
  EvaluationPoint(ReplicaWorker& worker, Strategy& strategy);
  ~EvaluationPoint();
  EvaluationPoint(const EvaluationPoint&) = delete;
  EvaluationPoint& operator=(const EvaluationPoint&) = delete;

 private:
  const TrainingPoint training_;
  ReplicaWorker& worker_;
};

}  // namespace tacit
