// SPDX-License-Identifier: MIT
#include "train/cost.h"

#include <array>
#include <optional>

#include "tacit/core/error.h"
#include "tacit/train/replica_worker.h"
#include "train/optimizer.h"
#include "train/readiness.h"
#include "train/time_account.h"

namespace tacit {
namespace {

// What the run's optimiser remembers, by its names and without content.
class CostState final : public OptimizerState {
 public:
  CostState(const std::string& optimizer, FloatView vector)
      : optimizer_(make_optimizer(optimizer)), vector_(vector) {}
  std::vector<NamedView> state() override {
    std::vector<NamedView> all = optimizer_->state();
    for (NamedView& each : all) each.values = vector_;
    return all;
  }
  void reset() override {}

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  const FloatView vector_;
};

class CostWorker final : public ReplicaWorker {
 public:
  CostWorker(Process& process, const CostJob& job)
      : ReplicaWorker(process, job.options.seed),
        total_(job.options.steps),
        optimizer_(job.options.optimizer),
        vector_(job.vector),
        whole_{Slice{0, vector_.size()}},
        state_(job.options.optimizer, vector_) {}

  using Worker::lr;
  float lr(std::int64_t) const override { return 0; }
  std::int64_t total() const override { return total_; }
  FloatView params() override { return vector_; }
  FloatView gradient() override { return vector_; }
  void apply(ConstFloatView, FloatView) override {}
  OptimizerState& optimizer() override { return state_; }
  std::unique_ptr<Optimizer> new_optimizer() const override { return make_optimizer(optimizer_); }
  std::span<const Slice> tensors() const override { return whole_; }
  std::span<const FloatView> buffers() override { return {}; }

 private:
  void compute_again(std::optional<std::int64_t>) override {}

  const std::int64_t total_;
  const std::string optimizer_;
  const FloatView vector_;
  const std::array<Slice, 1> whole_;
  CostState state_;
};

}  // namespace

std::span<const NamedSize> named_sizes() {
  static const std::array<NamedSize, 3> sizes{{
      {"resnet50", 25'557'032},     // K. He et al., CVPR 2016
      {"bert-large", 340'000'000},  // J. Devlin et al., NAACL 2019
      {"gpt2-xl", 1'500'000'000},   // A. Radford et al., 2019
  }};
  return sizes;
}

void cost_rank(Process& me, const CostJob& job, RankReport& report) {
  TACIT_CHECK(job.options.compress.empty(), "there is no content to compress");
  Clock& clock = me.tasks().clock();
  report.rank = me.rank();
  CostWorker worker(me, job);
  TimeAccount times(me);
  const auto strategy = make_strategy(job.strategies, job.options.strategy, me.size());
  worker.set_pieces(strategy->pieces(me.size()));
  const std::size_t bucket =
      bucket_floats("--bucket", job.options.bucket, worker.params().size(),
                    job.strategies.find(job.options.strategy), strategy->overlap_pays());
  Readiness readiness(worker.tensors(), bucket, [&](Slice part) { strategy->ready(worker, part); });
  if (readiness.overlaps()) worker.set_buckets(readiness.buckets());
  strategy->start(worker);
  me.control().barrier();  // the clock starts when all have the weights
  const auto account = [&](Seconds start) {
    report.seconds += (clock.now() - start).count();
    report.spent = times.spent(Seconds(report.seconds));
    report.sent = me.comm().ledger().training();
  };
  for (std::int64_t t = 0; t < job.options.steps; ++t) {
    if (job.stop()) throw Interrupted("rank " + std::to_string(me.rank()) + ": the run was interrupted");
    const Seconds start = clock.now();
    worker.set_t(t);
    readiness.begin();
    if (!worker.pieces()) spend_compute(me, t, readiness);
    {
      const TimeAccount::Exchange exchange(times);
      strategy->step(worker);
    }
    ++report.steps;
    account(start);
    const bool last = t + 1 == job.options.steps;
    if ((t + 1) % job.options.log_every == 0 || last)
      job.observer.on_steps({me.rank(), t + 1, 0, 0, report.seconds});
  }
  const Seconds start = clock.now();
  {
    const TimeAccount::Exchange exchange(times);
    strategy->finish(worker);
  }
  account(start);
  report.finished = true;
}

}  // namespace tacit
