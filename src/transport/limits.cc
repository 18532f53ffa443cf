// SPDX-License-Identifier: MIT
#include "transport/limits.h"

#include <iostream>
#include <utility>

namespace tacit {

WaitLimits checked(WaitLimits limits) {
  if (!(limits.timeout > Seconds(0)) || !(limits.stall > Seconds(0)))
    throw InvalidConfig("time-out and stall limit must be positive numbers of seconds");
  if (!limits.report) limits.report = [](const std::string& line) { std::cerr << "tacit: " + line + "\n"; };
  return limits;
}

}  // namespace tacit
