// SPDX-License-Identifier: MIT
#include "tacit/core/clock.h"

#include <thread>

namespace tacit {

Seconds RealClock::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void RealClock::sleep(Seconds duration) { std::this_thread::sleep_for(duration); }

std::chrono::steady_clock::time_point RealClock::point(Deadline deadline) {
  using Point = std::chrono::steady_clock::time_point;
  constexpr Seconds kFarAway{1e9};  // 31 years: fits into 64-bit nanoseconds
  if (deadline > kFarAway) deadline = kFarAway;
  return Point(std::chrono::duration_cast<Point::duration>(deadline));
}

}  // namespace tacit
