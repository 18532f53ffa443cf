// SPDX-License-Identifier: MIT
// Time is passed in. Real runs, tests and the simulator differ in this object and in nothing else.
#pragma once

#include <chrono>
#include <limits>

namespace tacit {

using Seconds = std::chrono::duration<double>;

// A point on a Clock, counted from its own zero.
using Deadline = Seconds;
inline constexpr Deadline kNever{std::numeric_limits<double>::infinity()};

// Threads  any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Seconds now() const = 0;
  virtual void sleep(Seconds duration) = 0;
  // Virtual time only: advances the clock by what a simulated machine needs to copy so many bytes. Elsewhere arithmetic
  // takes the time it takes.
  virtual void work(double bytes) = 0;
};

// The machine's steady clock.
class RealClock final : public Clock {
 public:
  Seconds now() const override;
  void sleep(Seconds duration) override;
  void work(double) override {}

  // The steady-clock point of a deadline, clamped to what its integers can hold.
  static std::chrono::steady_clock::time_point point(Deadline deadline);
};

}  // namespace tacit
