// SPDX-License-Identifier: MIT
#include "train/checkpoint_plan.h"

#include <algorithm>

#include "collectives/gather.h"

namespace tacit {
namespace {

constexpr double kMinute = 60;
constexpr double kMostStepsUnseen = 1000;  // a run whose steps become slower is late by no more than these

}  // namespace

CheckpointPlan::CheckpointPlan(Process& me, const CheckpointOptions& options, std::int64_t steps_done)
    : me_(me),
      clock_(me.tasks().clock()),
      every_(options.every),
      period_(options.minutes * kMinute),
      last_(clock_.now()),
      last_step_(steps_done),
      next_look_(steps_done + 1) {}

bool CheckpointPlan::due(std::int64_t steps_done) {
  if (every_ > 0) return steps_done % every_ == 0;
  if (steps_done < next_look_) return false;
  const std::int64_t left = gather_values(me_.control(), steps_left(steps_done)).front().what;
  next_look_ = steps_done + std::max<std::int64_t>(1, left);
  if (left > 0) return false;
  last_ = clock_.now();
  last_step_ = steps_done;
  return true;
}

void CheckpointPlan::lend(StateWriter& state) const {
  const double passed = (clock_.now() - last_).count();
  state.write("checkpoint.passed", std::as_bytes(std::span(&passed, 1)));
  state.write("checkpoint.last_step", static_cast<std::uint64_t>(last_step_));
  state.write("checkpoint.next_look", static_cast<std::uint64_t>(next_look_));
}

void CheckpointPlan::rejoin(StateReader& state) {
  double passed = 0;
  state.read("checkpoint.passed", std::as_writable_bytes(std::span(&passed, 1)));
  last_ = clock_.now() - Seconds(passed);
  last_step_ = static_cast<std::int64_t>(state.number("checkpoint.last_step"));
  next_look_ = static_cast<std::int64_t>(state.number("checkpoint.next_look"));
}

std::int64_t CheckpointPlan::steps_left(std::int64_t steps_done) const {
  const double passed = (clock_.now() - last_).count();
  const double pace = passed / static_cast<double>(steps_done - last_step_);
  const double left = period_.count() - passed;
  if (left <= pace / 2) return 0;
  return static_cast<std::int64_t>(std::clamp(left / pace / 2, 1.0, kMostStepsUnseen));
}

}  // namespace tacit
