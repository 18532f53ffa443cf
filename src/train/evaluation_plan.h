// SPDX-License-Identifier: MIT
// When a run is evaluated, and when it reached an accuracy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacit/runlog/events.h"

namespace tacit {

// Says after which steps a run is evaluated, beside the ends of epochs.
//
// Without a target: every so many steps. With one, evaluations are closer where the accuracy is about to pass it: at
// the rate at which it rose of late, over `every` steps or half of those so far, the next one comes after half of the
// steps that are left, no later than `every` and no sooner than a tenth of `every` or a fiftieth of the steps so far.
// The distance at most doubles from one evaluation to the next, and begins small. Once the target is reached it is
// `every`.
//
// Evaluating is collective: all ranks must record the same accuracies, bit for bit, and so plan alike.
class EvaluationPlan {
 public:
  static constexpr std::int64_t kEvery = 20;  // steps, where a target is wanted and nothing else was said

  // every = 0: never, or with a target kEvery.
  EvaluationPlan(std::int64_t every, std::optional<double> target);

  bool due(std::int64_t steps_done) const;
  // Also of evaluations that were not due, such as those at the ends of epochs.
  void record(std::int64_t steps_done, double accuracy);

 private:
  struct Point {
    std::int64_t step;
    double accuracy;
  };
  // Steps until the target at the rate of late; nothing where the accuracy does not rise.
  std::optional<double> steps_left(const Point& now) const;

  const std::int64_t every_;
  const std::optional<double> target_;
  std::vector<Point> points_;
  std::int64_t distance_;  // between this evaluation and the next
  std::int64_t next_;
};

// When the accuracy passed the target: between the first evaluation that had it and the one before, on the straight
// line through both. Nothing where no evaluation had it.
std::optional<double> seconds_to(std::span<const Evaluated> evaluations, double target);

}  // namespace tacit
