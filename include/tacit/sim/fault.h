// SPDX-License-Identifier: MIT
// What goes wrong on a simulated cluster, and when.
#pragma once

#include <optional>
#include <vector>

#include "tacit/core/clock.h"

namespace tacit {

struct Crash {
  int rank = 0;
  Seconds at{0};
};

// What these ranks send to those is held back, as bytes are in TCP, and arrives in order once the cut has healed.
struct Cut {
  std::vector<int> from;
  std::vector<int> to;
  bool both = true;  // directions; false: `to` is still heard by `from`
  Seconds at{0};
  Seconds until = kNever;
};

// The process is stopped, as by SIGSTOP, and continued.
struct Stop {
  int rank = 0;
  Seconds at{0};
  Seconds until = kNever;
};

// Messages that take longer than the network says. Those behind them wait, as in TCP.
struct LateRule {
  std::vector<int> from;  // empty: all
  std::vector<int> to;    // likewise
  Seconds at{0};
  Seconds until = kNever;
  double rate = 1;  // the share of messages that it happens to
  // Nothing: it is lost on the way and sent again after 0.2 s, twice that where it is lost again, and so on.
  std::optional<Seconds> delay{};
  bool words = false;  // what ranks tell each other of losses, in place of their messages
};

}  // namespace tacit
