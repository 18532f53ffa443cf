// SPDX-License-Identifier: MIT
// Learning-rate schedules: a factor in [0, 1] for every step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tacit/core/registry.h"

namespace tacit {

// The factor by which the base learning rate is multiplied at step t of `total`. Pure.
//
// Every schedule takes `warmup` (steps, default 0): the factor first grows linearly, (t+1)/warmup at step t,
// and then follows the schedule over the remaining total - warmup steps.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double factor(std::int64_t t, std::int64_t total) const = 0;
};

struct ScheduleInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::string example;  // as a user writes it
  std::function<std::unique_ptr<Schedule>(OptionReader&)> make;
};

const Registry<ScheduleInfo>& builtin_schedules();

// `constant`, `warmup:steps=500`, `step:every=0.33,gamma=0.1`, `cosine:warmup=100,floor=0`,
// `poly:power=2`. Throws InvalidConfig.
std::unique_ptr<Schedule> make_schedule(std::string_view spec);

}  // namespace tacit
