// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tacit/core/clock.h"

namespace tacit::sim {

// Time in pieces that may overlap, each ending no earlier than those before it.
class Pieces {
 public:
  void add(Seconds from, Seconds to) {
    from = std::max(from, taken_);
    while (!pieces_.empty() && pieces_.back().from >= from) pieces_.pop_back();
    if (!pieces_.empty()) from = std::max(from, pieces_.back().to);
    if (from < to) pieces_.push_back({from, to});
  }
  // How long there was one piece or more, since this was asked last.
  Seconds take(Seconds now) {
    taken_ = now;
    Seconds sum{0};
    for (const Piece& each : std::exchange(pieces_, {})) sum += each.to - each.from;
    return sum;
  }

 private:
  struct Piece {
    Seconds from;
    Seconds to;
  };
  std::vector<Piece> pieces_;  // none overlap
  Seconds taken_{0};           // what was before is counted
};

}  // namespace tacit::sim
