// SPDX-License-Identifier: MIT
#include "train/evaluation_plan.h"

#include <algorithm>

namespace tacit {
namespace {

constexpr std::int64_t kFinerThanEvery = 10;  // times
constexpr std::int64_t kFinerThanSoFar = 50;

}  // namespace

EvaluationPlan::EvaluationPlan(std::int64_t every, std::optional<double> target)
    : every_(every == 0 && target ? kEvery : every),
      target_(target),
      distance_(target ? std::max<std::int64_t>(1, every_ / kFinerThanEvery) : every_),
      next_(distance_) {}

bool EvaluationPlan::due(std::int64_t steps_done) const {
  return target_ ? steps_done >= next_ : every_ > 0 && steps_done % every_ == 0;
}

std::optional<double> EvaluationPlan::steps_left(const Point& now) const {
  if (points_.empty()) return std::nullopt;
  const std::int64_t since = now.step - std::min(every_, now.step / 2);  // early on, curves bend
  const auto later =
      std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.step > since; });
  const Point& before = later == points_.begin() ? points_.front() : *(later - 1);
  const double rise = now.accuracy - before.accuracy;
  if (!(rise > 0)) return std::nullopt;
  return (*target_ - now.accuracy) / rise * static_cast<double>(now.step - before.step);
}

void EvaluationPlan::record(std::int64_t steps_done, double accuracy) {
  if (!target_) return;
  const Point now{steps_done, accuracy};
  const bool reached = accuracy >= *target_ || (!points_.empty() && points_.back().accuracy >= *target_);
  if (reached) {
    distance_ = every_;
    points_ = {{steps_done, *target_}};  // it stays reached, whatever comes
  } else {
    distance_ = std::min(every_, 2 * distance_);
    if (const auto left = steps_left(now)) {
      const auto closest =
          std::max({std::int64_t{1}, every_ / kFinerThanEvery, steps_done / kFinerThanSoFar});
      const auto half = static_cast<std::int64_t>(std::min(*left / 2, static_cast<double>(distance_)));
      distance_ = std::clamp(half, std::min(closest, distance_), distance_);
    }
    points_.push_back(now);
  }
  next_ = steps_done + distance_;
}

std::optional<double> seconds_to(std::span<const Evaluated> evaluations, double target) {
  const auto reached = std::find_if(evaluations.begin(), evaluations.end(),
                                    [&](const Evaluated& e) { return e.accuracy >= target; });
  if (reached == evaluations.end()) return std::nullopt;
  if (reached == evaluations.begin()) return reached->seconds;
  const Evaluated& before = *(reached - 1);
  const double share = (target - before.accuracy) / (reached->accuracy - before.accuracy);
  return before.seconds + share * (reached->seconds - before.seconds);
}

}  // namespace tacit
