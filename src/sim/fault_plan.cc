// SPDX-License-Identifier: MIT
#include "sim/fault_plan.h"

#include <algorithm>

#include "tacit/core/rng.h"

namespace tacit::sim {
namespace {

// As in Linux: the first time-out of a connection on a fast network, and how often it is doubled at most here.
constexpr Seconds kRetransmit{0.2};
constexpr int kMostLosses = 6;

bool has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool covers(const Cut& cut, int from, int to) {
  return (has(cut.from, from) && has(cut.to, to)) || (cut.both && has(cut.from, to) && has(cut.to, from));
}
bool covers(const LateRule& late, int from, int to) {
  return (late.from.empty() || has(late.from, from)) && (late.to.empty() || has(late.to, to));
}

// The end of all that is under way, one after the other, from now on.
template <class Fault, class Covers>
Deadline end_of(const std::vector<Fault>& faults, Seconds now, const Covers& covers) {
  Deadline end = now;
  for (bool more = true; more && end < kNever;) {
    more = false;
    for (const Fault& each : faults)
      if (each.at <= end && end < each.until && covers(each)) {
        end = each.until;
        more = true;
      }
  }
  return end;
}

}  // namespace

Deadline FaultPlan::continued(int rank, Seconds now) const {
  return end_of(cluster_.stops, now, [&](const Stop& stop) { return stop.rank == rank; });
}

Deadline FaultPlan::healed(int from, int to, Seconds now) const {
  return end_of(cluster_.cuts, now, [&](const Cut& cut) { return covers(cut, from, to); });
}

Deadline FaultPlan::readable(int from, int to, Seconds now) const {
  for (Deadline end = now;;) {
    const Deadline later = continued(to, healed(from, to, end));
    if (later == end) return end;
    end = later;
  }
}

Seconds FaultPlan::delay(int from, int to, Seconds now, Kind kind) {
  Seconds delay{0};
  if (cluster_.late.empty()) return delay;
  const auto pair = static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(cluster_.workers) +
                    static_cast<std::uint64_t>(to);
  Rng rng(seed_ ^ pair * 0x9E3779B97F4A7C15ULL, from, draws_[pair]++, Rng::Use::kFault);
  for (const LateRule& each : cluster_.late) {
    if (now < each.at || now >= each.until || !covers(each, from, to)) continue;
    if (each.words != (kind == Kind::kWord)) continue;
    const int most = each.delay ? 1 : kMostLosses;
    for (int i = 0; i < most && static_cast<double>(rng.uniform()) < each.rate; ++i)
      delay += each.delay ? *each.delay : kRetransmit * (1 << i);
  }
  return delay;
}

}  // namespace tacit::sim
