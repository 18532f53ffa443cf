// SPDX-License-Identifier: MIT
#include "sim/fault_draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "sim/units.h"
#include "tacit/core/error.h"
#include "tacit/core/options.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

class Drawer {
 public:
  Drawer(const FaultDraw& draw, Seconds lost_after, Cluster& cluster)
      : rng_(draw.seed, Rng::kEveryRank, 0, Rng::Use::kFault), lost_after_(lost_after), cluster_(cluster) {}

  void draw(double rate, Seconds span) {
    const double per_second = rate / 60 * cluster_.workers;
    for (Seconds at = after(per_second); at < span; at += after(per_second)) add(rounded(at));
  }

 private:
  double uniform() { return static_cast<double>(rng_.uniform()); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.below(n)); }
  Seconds after(double per_second) { return Seconds(-std::log(1 - uniform()) / per_second); }
  // Mathematical functions differ in their last bit between machines; no schedule must.
  static Seconds rounded(Seconds time) { return Seconds(std::round(time.count() * 1e3) * 1e-3); }

  // A third are over before anybody is missed, most of the others are not, and some last.
  Seconds end(Seconds at) {
    const double kind = uniform();
    const double share = uniform();
    if (kind < 0.35) return rounded(at + lost_after_ * (0.01 + 0.6 * share));
    if (kind < 0.85) return rounded(at + lost_after_ * (0.6 + 3 * share));
    return kNever;
  }
  int any_rank() { return static_cast<int>(below(static_cast<std::size_t>(cluster_.workers))); }

  void add(Seconds at) {
    const double kind = uniform();
    if (kind < 0.2) return add_crash(at);
    if (kind < 0.5) return cluster_.stops.push_back({any_rank(), at, end(at)});
    if (kind < 0.8 && cluster_.workers > 1) return add_cut(at);
    add_late(at);
  }
  void add_crash(Seconds at) {
    const int rank = any_rank();
    std::vector<bool> crashes(static_cast<std::size_t>(cluster_.workers));
    for (const Crash& each : cluster_.crashes) crashes[static_cast<std::size_t>(each.rank)] = true;
    crashes[static_cast<std::size_t>(rank)] = true;
    if (std::find(crashes.begin(), crashes.end(), false) == crashes.end()) return;
    cluster_.crashes.push_back({rank, at});
  }
  // One link, the links of one machine, or those between two parts.
  void add_cut(Seconds at) {
    Cut cut;
    const std::size_t kind = below(3);
    const int one = any_rank();
    const auto other = static_cast<int>(
        (static_cast<std::size_t>(one) + 1 + below(static_cast<std::size_t>(cluster_.workers) - 1)) %
        static_cast<std::size_t>(cluster_.workers));
    for (int rank = 0; rank < cluster_.workers; ++rank) {
      const bool drawn = uniform() < 0.5;
      const bool first = rank == one || (kind == 2 && rank != other && drawn);
      if (first) {
        cut.from.push_back(rank);
      } else if (kind > 0 || rank == other) {
        cut.to.push_back(rank);
      }
    }
    if (uniform() < 0.3) std::swap(cut.from, cut.to);
    cut.both = uniform() < 0.7;
    cut.at = at;
    cut.until = end(at);
    cluster_.cuts.push_back(std::move(cut));
  }
  void add_late(Seconds at) {
    LateRule late;
    if (uniform() < 0.5) late.from = {any_rank()};
    if (uniform() < 0.5) late.to = {any_rank()};
    late.at = at;
    late.until = rounded(at + lost_after_ * (0.1 + 2 * uniform()));
    late.rate = 0.05 + 0.4 * uniform();
    if (uniform() < 0.5) late.delay = rounded(Seconds(0.001) + lost_after_ * 0.3 * uniform());
    cluster_.late.push_back(std::move(late));
  }

  Rng rng_;
  const Seconds lost_after_;
  Cluster& cluster_;
};

std::string seconds(Seconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.4g s", time.count());
  return text.data();
}
std::string ranks(const std::vector<int>& all) {
  if (all.empty()) return "any rank";
  std::string text = (all.size() == 1 ? "rank " : "ranks ") + std::to_string(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) text += ", " + std::to_string(all[i]);
  return text;
}
std::string span(Seconds at, Seconds until) {
  return " from " + seconds(at) + (until == kNever ? " on" : " to " + seconds(until));
}

}  // namespace

FaultDraw FaultDraw::parse(const std::string& text) {
  OptionReader options(Spec::parse("faults:" + text));
  FaultDraw draw;
  draw.seed = static_cast<std::uint64_t>(
      options.integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max(), {"of the draw"}));
  draw.rate = options.number("rate", draw.rate, 0, 1000, {"faults per worker and minute"});
  if (const std::string span = options.text("for", "", {"time in which they begin, such as 10min"});
      !span.empty())
    draw.span = sim::parse_time(span, "--faults: for");
  options.finish();
  if (!(draw.span > Seconds(0)))
    throw InvalidConfig("--faults: for is a time of more than 0 s, such as 10min");
  return draw;
}

void draw_faults(const FaultDraw& draw, Seconds lost_after, Cluster& cluster) {
  if (draw.rate > 0) Drawer(draw, lost_after, cluster).draw(draw.rate, draw.span);
}

bool has_faults(const Cluster& c) {
  return !c.crashes.empty() || !c.stops.empty() || !c.cuts.empty() || !c.late.empty();
}

std::string describe_faults(const Cluster& cluster) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : "; ") + one; };
  for (const Crash& c : cluster.crashes)
    add("rank " + std::to_string(c.rank) + " crashes at " + seconds(c.at));
  for (const Stop& s : cluster.stops)
    add("rank " + std::to_string(s.rank) + " is stopped" + span(s.at, s.until));
  for (const Cut& c : cluster.cuts)
    add(ranks(c.from) + " cut off from " + ranks(c.to) + (c.both ? "" : " in that direction") +
        span(c.at, c.until));
  for (const LateRule& l : cluster.late) {
    const std::string share = std::to_string(std::lround(l.rate * 100)) +
                              (l.words ? " % of words from " : " % of messages from ") + ranks(l.from) +
                              " to " + ranks(l.to) + " ";
    add(share + (l.delay ? "late by " + seconds(*l.delay) : "lost once or more") + span(l.at, l.until));
  }
  return text.empty() ? "none" : text;
}

}  // namespace tacit
