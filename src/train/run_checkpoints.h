// SPDX-License-Identifier: MIT
// How a run of the trainer is saved, and how another goes on with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tacit/strategy/strategy.h"
#include "tacit/train/rank_report.h"
#include "tacit/train/trainer.h"
#include "train/checkpoint_plan.h"
#include "train/checkpointer.h"
#include "train/find_checkpoint.h"
#include "train/flat_worker.h"

namespace tacit {

// What the loop has counted since it last said so.
struct LossCount {
  double sum = 0;
  std::int64_t steps = 0;
};

// Collective. With neither --checkpoint nor --resume nothing happens.
//
// Lifetime  all that it is given must outlive it. Threads: the trainer's.
class RunCheckpoints {
 public:
  struct Parts {
    Process& me;
    const TrainJob& job;
    FlatWorker& worker;
    Model& model;
    Optimizer& optimizer;
    Strategy& strategy;
  };
  explicit RunCheckpoints(const Parts& parts) : parts_(parts) {}

  // Before Strategy::start. Finds what the run goes on from; where that is of another number of ranks, the weights become
  // its mean model's. Throws InvalidConfig.
  void find();
  // After it. The rest of the state, where it fits; returns the steps that are done.
  std::int64_t resume(RankReport& report, LossCount& losses);

  // For a rank that has come back: what it goes on with, as one that lives has it between two steps; and the steps that
  // are done. lend() is not for a moment at which a checkpoint is being written (busy).
  bool busy() const { return writer_ && writer_->busy(); }
  void lend(std::int64_t steps_done, const RankReport& report, StateWriter& state);
  std::int64_t rejoin(StateReader& state, RankReport& report);

  bool due(std::int64_t steps_done) { return plan_ && plan_->due(steps_done); }
  // Between two steps, while the clock stands still.
  void save(std::int64_t steps_done, const RankReport& report, const LossCount& losses);
  // After each step.
  void look() {
    if (writer_) writer_->look();
  }
  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  bool same_ranks() const { return found_->manifest.ranks == parts_.me.size(); }
  std::int64_t first_step() const;
  void load_mean_model();
  void load(StateReader& state, RankReport& report, LossCount& losses);
  void tell(std::int64_t first) const;
  void begin_writing(std::int64_t first, std::optional<std::uint64_t> job);

  const Parts parts_;
  std::optional<FoundCheckpoint> found_;
  std::unique_ptr<Checkpointer> writer_;
  std::optional<CheckpointPlan> plan_;
};

}  // namespace tacit
