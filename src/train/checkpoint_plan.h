// SPDX-License-Identifier: MIT
// After which steps a run is saved.
#pragma once

#include <cstdint>

#include "tacit/core/state.h"
#include "tacit/train/trainer.h"
#include "tacit/world/world.h"

namespace tacit {

// Every so many steps; or every so many minutes by the clock of the lowest rank, which the others ask when about half of
// the time is over that is left, so that all save after the same step.
//
// Threads  the trainer's.
class CheckpointPlan {
 public:
  CheckpointPlan(Process& me, const CheckpointOptions& options, std::int64_t steps_done);
  // After each step. Collective.
  bool due(std::int64_t steps_done);

  // For a rank that comes back, of one that lives: when the others look next.
  void lend(StateWriter& state) const;
  void rejoin(StateReader& state);

 private:
  // Steps until the others ask again; 0: now.
  std::int64_t steps_left(std::int64_t steps_done) const;

  Process& me_;
  Clock& clock_;
  const std::int64_t every_;
  const Seconds period_;
  Seconds last_;            // save
  std::int64_t last_step_;  // at that time
  std::int64_t next_look_;  // by the clock
};

}  // namespace tacit
