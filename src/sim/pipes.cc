// SPDX-License-Identifier: MIT
#include "sim/pipes.h"

#include <algorithm>
#include <utility>

namespace tacit::sim {

void Pipes::pass(const End& end, Deadline earliest, std::function<void()> fn) {
  const auto ranks = static_cast<std::uint64_t>(scheduler_.size());
  const auto pair = static_cast<std::uint64_t>(end.from) * ranks + static_cast<std::uint64_t>(end.to);
  Queue& queue = queues_[kWays * pair + static_cast<std::uint64_t>(end.way)];
  queue.held.push_back({earliest, std::move(fn)});
  if (!queue.busy) advance(end, queue);
}

void Pipes::advance(const End& end, Queue& queue) {
  queue.busy = true;
  while (!queue.held.empty()) {
    const Deadline when = ready(end, queue.held.front());
    if (when > scheduler_.now()) {
      if (when < kNever) scheduler_.at(when, [this, end, &queue] { advance(end, queue); });
      return;
    }
    const std::function<void()> fn = std::move(queue.held.front().fn);
    queue.held.pop_front();
    fn();
  }
  queue.busy = false;
}

Deadline Pipes::ready(const End& end, const Held& held) const {
  const Seconds from = std::max(scheduler_.now(), held.earliest);
  return end.way == Way::kLeave ? plan_.healed(end.from, end.to, from)
                                : plan_.readable(end.from, end.to, from);
}

}  // namespace tacit::sim
