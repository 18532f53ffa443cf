// SPDX-License-Identifier: MIT
#include "transport/tcp/wait_chain.h"

#include <algorithm>

namespace tacit {

std::string describe_chain(const std::vector<WaitState>& waits) {
  const auto named = [&](int rank) {
    const int peer = waits[static_cast<std::size_t>(rank)].peer;
    return peer >= 0 && peer < static_cast<int>(waits.size());
  };
  const auto longest =
      std::max_element(waits.begin(), waits.end(), [](const WaitState& a, const WaitState& b) {
        return (a.peer < 0 ? 0 : a.microseconds) < (b.peer < 0 ? 0 : b.microseconds);
      });
  if (longest == waits.end()) return {};
  int at = static_cast<int>(longest - waits.begin());
  if (!named(at)) return {};
  std::string text = "rank " + std::to_string(at);
  std::vector<bool> seen(waits.size());
  while (named(at)) {
    seen[static_cast<std::size_t>(at)] = true;
    const WaitState& wait = waits[static_cast<std::size_t>(at)];
    const auto tag = Tag::from_bits(wait.tag);
    text += " waits for rank " + std::to_string(wait.peer) + " (" + (tag ? tag->text() : "unknown exchange") +
            ", " + std::to_string(wait.microseconds / 1'000'000) + " s)";
    at = wait.peer;
    if (seen[static_cast<std::size_t>(at)]) return text + ": a circle";
    text += ", which";
  }
  return text + " waits for nobody: look at rank " + std::to_string(at);
}

WaitBook::Entry::Entry(WaitBook& book, int peer, Tag tag, Seconds since) : book_(book) {
  const MutexLock lock(book_.mutex_);
  where_ = book_.own_.insert(book_.own_.end(), {peer, tag, since});
}

WaitBook::Entry::~Entry() {
  const MutexLock lock(book_.mutex_);
  book_.own_.erase(where_);
}

WaitState WaitBook::longest(Seconds now) {
  const MutexLock lock(mutex_);
  for (const Entry::Wait& wait : own_)
    if (wait.peer != kAnyRank)
      return {wait.peer, wait.tag.bits(), static_cast<std::uint64_t>((now - wait.since).count() * 1e6)};
  return {};
}

void WaitBook::tell(int rank, const WaitState& wait) {
  const MutexLock lock(mutex_);
  told_[static_cast<std::size_t>(rank)] = wait;
}

std::vector<WaitState> WaitBook::told() {
  const MutexLock lock(mutex_);
  return told_;
}

void ChainReport::look(std::vector<WaitState> waits, const std::function<bool(int rank)>& silent) {
  Seconds longest{0};
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    WaitState& wait = waits[rank];
    const Seconds waited(static_cast<double>(wait.microseconds) / 1e6);
    // A short wait is no link of the chain.
    if (waited < limits_.stall / 2 || silent(static_cast<int>(rank))) wait = {};
    if (wait.peer >= 0) longest = std::max(longest, waited);
  }
  if (longest < limits_.stall) {
    mark_ = limits_.stall;
  } else if (longest >= mark_) {
    mark_ = 2 * longest;
    limits_.report("who waits for whom: " + describe_chain(waits));
  }
}

}  // namespace tacit
