// SPDX-License-Identifier: MIT
// How long a rank waits for a named peer, and what it says meanwhile: the same in every transport.
#pragma once

#include <algorithm>
#include <string>

#include "tacit/core/error.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// The limits with a place to report to; throws InvalidConfig for limits that are not positive.
WaitLimits checked(WaitLimits limits);

// wait_until(deadline) waits for the end of the wait and says whether it came. It is called again after every stall
// report, until it says yes; past the limit this throws Timeout. describe() says who waits for what.
template <class Describe, class WaitUntil>
void wait_within(const WaitLimits& limits, Clock& clock, const Describe& describe,
                 const WaitUntil& wait_until) {
  const Seconds start = clock.now();
  Seconds mark = limits.stall;
  while (!wait_until(start + std::min(mark, limits.timeout))) {
    // Compared as the deadline was made: a difference could be a rounding short of it for ever, in virtual time.
    const Seconds now = clock.now();
    const Seconds waited = now - start;
    if (now >= start + limits.timeout)
      throw Timeout(describe() + ": nothing for " + std::to_string(waited.count()) +
                    " s, which is the limit; find out what that rank does, or raise the time-out");
    if (now >= start + mark) {
      limits.report(describe() + ", for " + std::to_string(waited.count()) + " s so far");
      mark *= 2;
    }
  }
}

// Who waits for a message, from whom, and for which.
struct MessageWait {
  int rank;
  int peer;
  Tag tag;
};

// The same for a message. A wait for kAnyRank is idle and has no limit.
template <class WaitUntil>
void wait_within(const WaitLimits& limits, Clock& clock, const MessageWait& wait,
                 const WaitUntil& wait_until) {
  if (wait.peer == kAnyRank) {
    while (!wait_until(kNever)) {
    }
    return;
  }
  const auto describe = [&] { return describe_wait(wait.rank, wait.peer, wait.tag); };
  wait_within(limits, clock, describe, wait_until);
}

}  // namespace tacit
