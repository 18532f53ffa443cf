// SPDX-License-Identifier: MIT
#include "transport/wait_tally.h"

#include <algorithm>

namespace tacit {

const std::shared_ptr<WaitTally>& WaitTally::mine() {
  thread_local const auto tally = std::make_shared<WaitTally>();
  return tally;
}

Seconds WaitTally::total() const {
  const double since = since_.load(kRelaxed);
  const Seconds going_on = since > 0 ? RealClock().now() - Seconds(since) : Seconds(0);
  return Seconds(total_.load(kRelaxed)) + going_on;
}

Blocked::Blocked() : tally_(*WaitTally::mine()), since_(RealClock().now()) {
  tally_.since_.store(since_.count(), WaitTally::kRelaxed);
}

Blocked::~Blocked() {
  tally_.since_.store(0, WaitTally::kRelaxed);
  tally_.add(std::max(Seconds(0), std::min(under_way_, RealClock().now()) - since_));
}

void TaskTally::publish() {
  const MutexLock lock(mutex_);
  tally_ = WaitTally::mine();
}

Seconds TaskTally::total() const {
  const MutexLock lock(mutex_);
  return tally_ ? tally_->total() : Seconds(0);
}

BlockedBehind::BlockedBehind(const TaskTally& other)
    : other_(other), since_(RealClock().now()), before_(other.total()) {}

// The two readings may be taken while a wait of the other begins or ends: no wait is longer than it was.
BlockedBehind::~BlockedBehind() {
  const Seconds waited = other_.total() - before_;
  WaitTally::mine()->add(std::clamp(waited, Seconds(0), RealClock().now() - since_));
}

}  // namespace tacit
