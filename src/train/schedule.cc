// SPDX-License-Identifier: MIT
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

// From the share of the run that is over, in [0, 1], to the factor.
using Curve = std::function<double(double)>;

// A linear rise over the first steps, then a curve. Steps outside of the run are taken for its nearest end,
// where the curve is over; a run that ends within the rise never sees the curve.
class WarmCurve final : public Schedule {
 public:
  WarmCurve(std::int64_t warmup, Curve curve) : warmup_(warmup), curve_(std::move(curve)) {}

  double factor(std::int64_t t, std::int64_t total) const override {
    const std::int64_t now = std::clamp<std::int64_t>(t, 0, std::max<std::int64_t>(total, 0));
    if (now < warmup_) return static_cast<double>(now + 1) / static_cast<double>(warmup_);
    if (now >= total) return curve_(1);
    return curve_(static_cast<double>(now - warmup_) / static_cast<double>(total - warmup_));
  }

 private:
  std::int64_t warmup_;
  Curve curve_;
};

std::unique_ptr<Schedule> warmed(OptionReader& options, Curve curve) {
  return std::make_unique<WarmCurve>(
      options.integer("warmup", 0, 0, kMaxSteps, {"steps of linear rise at the start"}), std::move(curve));
}

double one(double) { return 1; }

std::unique_ptr<Schedule> make_constant(OptionReader& options) { return warmed(options, one); }

std::unique_ptr<Schedule> make_warmup(OptionReader& options) {
  return std::make_unique<WarmCurve>(
      options.integer("steps", 100, 0, kMaxSteps, {"steps of linear rise at the start"}), one);
}

std::unique_ptr<Schedule> make_step(OptionReader& options) {
  const double every =
      options.number("every", 1.0 / 3, 1e-6, 1, {"share of the run between two drops", "1/3"});
  const double gamma = options.number("gamma", 0.1, 0, 1, {"factor of a drop"});
  return warmed(options, [=](double over) {
    // 0.3 / 0.1 is a hair below 3, and the drop would come a step late.
    constexpr double kHair = 1e-9;
    return std::pow(gamma, std::floor(over / every + kHair));
  });
}

std::unique_ptr<Schedule> make_cosine(OptionReader& options) {
  const double floor = options.number("floor", 0, 0, 1, {"the last factor"});
  return warmed(options, [=](double over) {
    return floor + (1 - floor) * (1 + std::cos(std::numbers::pi * over)) / 2;
  });
}

std::unique_ptr<Schedule> make_poly(OptionReader& options) {
  const double power = options.number("power", 2, 0, 100, {"of the share of the run that is left"});
  const double floor = options.number("floor", 0, 0, 1, {"the last factor"});
  return warmed(options, [=](double over) { return floor + (1 - floor) * std::pow(1 - over, power); });
}

}  // namespace

const Registry<ScheduleInfo>& builtin_schedules() {
  static const Registry<ScheduleInfo> all(
      "schedule",
      {
          {"constant", "always 1", "no paper", "constant:warmup=100", make_constant},
          {"warmup", "a linear rise, then 1", "arXiv:1706.02677", "warmup:steps=100", make_warmup},
          {"step", "times gamma after each share of the run", "arXiv:1512.03385", "step:every=0.25,gamma=0.1",
           make_step},
          {"cosine", "half a cosine from 1 to the floor", "arXiv:1608.03983", "cosine:warmup=100",
           make_cosine},
          {"poly", "(1 - share of the run)^power, to the floor", "no paper", "poly:power=2,warmup=100",
           make_poly},
      });
  return all;
}

std::unique_ptr<Schedule> make_schedule(std::string_view spec) {
  return builtin_schedules().make(spec,
                                  [](const ScheduleInfo& info, OptionReader& o) { return info.make(o); });
}

}  // namespace tacit
