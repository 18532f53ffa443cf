// SPDX-License-Identifier: MIT
#include "tacit/sim/cluster.h"

#include <algorithm>
#include <cmath>

#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

// Whether a rank is one of `count` that are drawn at this step. Floyd's sampling: as many draws as ranks are chosen,
// the same on every rank.
bool is_drawn(int rank, int count, int ranks, Rng& rng) {
  std::vector<int> chosen;
  for (int i = ranks - count; i < ranks; ++i) {
    const int draw = static_cast<int>(rng.below(static_cast<std::uint64_t>(i) + 1));
    const bool taken = std::find(chosen.begin(), chosen.end(), draw) != chosen.end();
    chosen.push_back(taken ? i : draw);
  }
  return std::find(chosen.begin(), chosen.end(), rank) != chosen.end();
}

// Ranks read a trace from places that lie evenly over it, so that they do not all have its slow steps at once.
Seconds traced(const std::vector<Seconds>& trace, int rank, int ranks, std::int64_t step) {
  const auto start = trace.size() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
  return trace[(start + static_cast<std::size_t>(step)) % trace.size()];
}

void check_rank(int rank, const Cluster& cluster, const std::string& where) {
  if (rank < 0 || rank >= cluster.workers)
    throw InvalidConfig(where + " names rank " + std::to_string(rank) + ", and the ranks of " +
                        std::to_string(cluster.workers) + " workers are 0 to " +
                        std::to_string(cluster.workers - 1));
}

void check_link(const LinkSpeed& link, const std::string& where) {
  if (!(link.bandwidth > 0))
    throw InvalidConfig(where + " has no bandwidth; give more than 0, such as \"10Gbps\"");
  if (!(link.latency >= Seconds(0)))
    throw InvalidConfig(where + " has a negative latency; give 0 or more, such as \"50us\"");
}

void check_times(Seconds at, Seconds until, const std::string& where) {
  if (!(at >= Seconds(0))) throw InvalidConfig(where + " begins at 0 s or later");
  if (!(until > at)) throw InvalidConfig(where + " ends before it begins; give an `until` after `at`");
}

void check_cut(const Cut& cut, const Cluster& cluster, const std::string& where) {
  for (const int rank : cut.from) check_rank(rank, cluster, where);
  for (const int rank : cut.to) check_rank(rank, cluster, where);
  if (cut.from.empty() || cut.to.empty()) throw InvalidConfig(where + " wants ranks in `from` and in `to`");
  for (const int rank : cut.from)
    if (std::find(cut.to.begin(), cut.to.end(), rank) != cut.to.end())
      throw InvalidConfig(where + " has rank " + std::to_string(rank) + " on both sides");
  check_times(cut.at, cut.until, where);
}

void check_late(const LateRule& late, const Cluster& cluster, const std::string& where) {
  for (const int rank : late.from) check_rank(rank, cluster, where);
  for (const int rank : late.to) check_rank(rank, cluster, where);
  check_times(late.at, late.until, where);
  if (!(late.rate > 0 && late.rate <= 1))
    throw InvalidConfig(where + " wants as `rate` the share of messages, more than 0 and at most 1");
  if (late.delay && !(*late.delay > Seconds(0)))
    throw InvalidConfig(where + " wants a delay of more than 0 s");
}

void check_faults(const Cluster& cluster, const std::string& name) {
  for (const Crash& crash : cluster.crashes) {
    check_rank(crash.rank, cluster, name + ": a crash");
    if (!(crash.at >= Seconds(0))) throw InvalidConfig(name + ": a crash happens at 0 s or later");
  }
  for (const Stop& stop : cluster.stops) {
    check_rank(stop.rank, cluster, name + ": a stop");
    check_times(stop.at, stop.until, name + ": a stop");
  }
  for (const Cut& cut : cluster.cuts) check_cut(cut, cluster, name + ": a cut");
  for (const LateRule& late : cluster.late)
    check_late(late, cluster,
               name + (late.delay ? ": a rule for late messages" : ": a rule for lost messages"));
}

}  // namespace

void check(const Cluster& cluster, const std::string& name) {
  if (cluster.workers < 1) throw InvalidConfig(name + ": workers must be 1 or more");
  check_link(cluster.link, name + ": network");
  int grouped = 0;
  for (const WorkerGroup& group : cluster.groups) {
    if (group.workers < 1) throw InvalidConfig(name + ": region " + group.name + " has no workers");
    if (group.uplink) check_link(*group.uplink, name + ": the uplink of " + group.name);
    grouped += group.workers;
  }
  if (!cluster.groups.empty() && grouped != cluster.workers)
    throw InvalidConfig(name + ": its regions have " + std::to_string(grouped) +
                        " workers together and not " + std::to_string(cluster.workers));
  if (!(cluster.step >= Seconds(0))) throw InvalidConfig(name + ": compute.step is negative");
  if (!(cluster.memory > 0))
    throw InvalidConfig(
        name + ": compute.memory is what a machine copies per second; give more than 0, such as \"9GBps\"");
  if (!(cluster.jitter >= 0 && cluster.jitter <= 3))
    throw InvalidConfig(name + ": compute.jitter is the sigma of a log-normal factor; give 0 to 3");
  if (!cluster.speed.empty() && cluster.speed.size() != static_cast<std::size_t>(cluster.workers))
    throw InvalidConfig(name + ": compute.speed has " + std::to_string(cluster.speed.size()) +
                        " numbers for " + std::to_string(cluster.workers) +
                        " workers; give one for each, or one for all");
  for (const double speed : cluster.speed)
    if (!(speed > 0)) throw InvalidConfig(name + ": compute.speed must be more than 0");
  for (const Straggler& s : cluster.stragglers) {
    for (const int rank : s.ranks) check_rank(rank, cluster, name + ": a straggler");
    if (s.ranks.empty() && (s.count < 1 || s.count > cluster.workers))
      throw InvalidConfig(name + ": a straggler rule wants count between 1 and " +
                          std::to_string(cluster.workers) + ", or ranks");
    if (!(s.factor > 0) || !(s.delay >= Seconds(0)))
      throw InvalidConfig(name + ": a straggler's factor must be more than 0 and its delay 0 or more");
  }
  check_faults(cluster, name);
}

Seconds compute_time(const Cluster& c, std::uint64_t seed, int rank, std::int64_t step) {
  double time = (c.trace.empty() ? c.step : traced(c.trace, rank, c.workers, step)).count();
  if (c.jitter > 0) {
    Rng own(seed, rank, step, Rng::Use::kStraggler);
    time *= std::exp(c.jitter * static_cast<double>(own.normal()) - c.jitter * c.jitter / 2);
  }
  if (!c.speed.empty()) time /= c.speed[static_cast<std::size_t>(rank)];
  Rng shared(seed, Rng::kEveryRank, step, Rng::Use::kStraggler);
  Seconds delay{0};
  for (const Straggler& s : c.stragglers) {
    const bool hit = s.ranks.empty() ? is_drawn(rank, s.count, c.workers, shared)
                                     : std::find(s.ranks.begin(), s.ranks.end(), rank) != s.ranks.end();
    if (!hit) continue;
    time *= s.factor;
    delay += s.delay;
  }
  // Mathematical functions differ in their last bit between machines; no trace must.
  return Seconds(std::round((time + delay.count()) * 1e9) * 1e-9);
}

}  // namespace tacit
