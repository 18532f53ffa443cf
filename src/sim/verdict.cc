// SPDX-License-Identifier: MIT
#include "sim/verdict.h"

#include <algorithm>
#include <utility>

#include "core/thrown.h"
#include "tacit/core/error.h"
#include "tacit/transport/endpoint.h"
#include "transport/membership.h"
#include "transport/rank_list.h"

namespace tacit {
namespace {

struct Span {
  Seconds at;
  Seconds until;
  int first;  // who is silent by it
  int second;
};

bool has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// When the first of two ranks could not be heard by the second, in the order of time.
std::vector<Span> silences(const Cluster& cluster, int from, int to) {
  std::vector<Span> all;
  for (const Cut& c : cluster.cuts)
    if ((has(c.from, from) && has(c.to, to)) || (c.both && has(c.from, to) && has(c.to, from)))
      all.push_back({c.at, c.until, from, to});
  for (const Stop& s : cluster.stops)
    if (s.rank == from || s.rank == to) all.push_back({s.at, s.until, s.rank, s.rank});
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.at < b.at; });
  return all;
}

// Ranks that were silent to one other for as long as it takes to be missed, or to take themselves for missed. Silences
// that follow each other are one; a heartbeat may have been due when one began and is not yet there when it ends.
void mark_silent(const Cluster& cluster, Seconds lost_after, std::vector<bool>& silent) {
  const Seconds beats = 3 * heartbeat(lost_after);
  for (int from = 0; from < cluster.workers; ++from)
    for (int to = 0; to < cluster.workers; ++to) {
      if (from == to) continue;
      const std::vector<Span> all = silences(cluster, from, to);
      for (auto first = all.begin(); first != all.end();) {
        const Seconds begin = first->at;
        Seconds end = first->until;
        auto last = first;
        while (++last != all.end() && last->at <= end + beats) end = std::max(end, last->until);
        for (; first != last; ++first)
          if (end - begin >= lost_after - beats)
            silent[static_cast<std::size_t>(first->first)] = silent[static_cast<std::size_t>(first->second)] =
                true;
      }
    }
}

class Verdict {
 public:
  Verdict(const Cluster& cluster, const RunTerms& terms, std::span<const RankEnd> ends)
      : terms_(terms), ends_(ends), crashed_(ends.size()), silent_(ends.size()), erred_(ends.size()) {
    for (const Crash& crash : cluster.crashes) crashed_[static_cast<std::size_t>(crash.rank)] = true;
    mark_silent(cluster, terms.lost_after, silent_);
  }

  std::vector<std::string> operator()() {
    look_at_errors();
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      look_at_names(rank);
      look_at_innocent(rank);
    }
    return std::move(found_);
  }

 private:
  static std::string name(std::size_t rank) { return "rank " + std::to_string(rank); }
  bool at_fault(std::size_t rank) const { return crashed_[rank] || silent_[rank] || erred_[rank]; }
  bool finished(std::size_t rank) const { return !ends_[rank].crashed && !ends_[rank].error; }
  // Nothing when it did not lose anybody.
  std::optional<PeerLost> loss_of(std::size_t rank) const {
    if (ends_[rank].crashed || !ends_[rank].error) return std::nullopt;
    try {
      std::rethrow_exception(ends_[rank].error);
    } catch (const PeerLost& lost) {
      return lost;
    } catch (...) {
      return std::nullopt;
    }
  }
  bool ended_itself(std::size_t rank) const {
    const auto lost = loss_of(rank);
    return lost && lost->peer == static_cast<int>(rank);
  }
  // Where losses end the run, ranks leave one after the other, each for a loss that it saw.
  bool left_early(std::size_t rank) const {
    return !terms_.survive && !at_fault(rank) && loss_of(rank) && !ended_itself(rank);
  }
  // Ranks that nothing happened to hear each other. Whoever only crashed was one of them before.
  bool innocents_are_most() const {
    std::size_t innocent = 0;
    std::size_t before = ends_.size();
    std::optional<std::size_t> lowest;
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      const bool gone = (crashed_[rank] && !silent_[rank]) || left_early(rank);
      if (!at_fault(rank) && !gone) ++innocent;
      if (gone) {
        --before;
      } else if (!lowest) {
        lowest = rank;
      }
    }
    return 2 * innocent > before || (2 * innocent == before && lowest && !at_fault(*lowest));
  }

  void look_at_errors() {
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      if (finished(rank) || ends_[rank].crashed || loss_of(rank)) continue;
      erred_[rank] = true;
      found_.push_back(name(rank) + " ended with: " + describe(ends_[rank].error));
    }
  }
  void look_at_names(std::size_t rank) {
    std::vector<int> named = terms_.survive && !ends_[rank].crashed ? ends_[rank].lost : std::vector<int>{};
    const auto lost = loss_of(rank);
    if (lost) named.push_back(lost->peer);
    for (const int peer : named) {
      const auto whom = static_cast<std::size_t>(peer);
      if (at_fault(whom) || (ended_itself(whom) && !innocents_are_most())) continue;
      if (whom == rank && !innocents_are_most()) continue;
      found_.push_back(name(rank) + " names " + name(whom) + ", which nothing happened to" +
                       (lost ? std::string(": ") + lost->what() : ""));
    }
  }
  void look_at_innocent(std::size_t rank) {
    if (!terms_.survive || finished(rank) || at_fault(rank) || ends_[rank].crashed) return;
    if (innocents_are_most())
      found_.push_back(name(rank) +
                       ", which nothing happened to, did not finish: " + describe(ends_[rank].error));
  }

  const RunTerms terms_;
  const std::span<const RankEnd> ends_;
  std::vector<bool> crashed_;
  std::vector<bool> silent_;
  std::vector<bool> erred_;  // by an error of its own
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Cluster& cluster, const RunTerms& terms,
                                    std::span<const RankEnd> ends) {
  return Verdict(cluster, terms, ends)();
}

std::vector<std::string> unequal_weights(std::span<const std::optional<std::uint64_t>> hashes) {
  std::vector<std::string> found;
  std::optional<std::size_t> first;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (!hashes[rank]) continue;
    if (!first) first = rank;
    if (*hashes[rank] != *hashes[*first])
      found.push_back("rank " + std::to_string(*first) + " and rank " + std::to_string(rank) +
                      " finished with different weights");
  }
  return found;
}

std::string describe_ends(std::span<const RankEnd> ends) {
  std::vector<int> finished;
  std::vector<int> lost;
  for (std::size_t rank = 0; rank < ends.size(); ++rank)
    (ends[rank].crashed || ends[rank].error ? lost : finished).push_back(static_cast<int>(rank));
  return "finished: " + (finished.empty() ? "nobody" : name_ranks(finished)) +
         "; lost: " + (lost.empty() ? "nobody" : name_ranks(lost));
}

}  // namespace tacit
