// SPDX-License-Identifier: MIT
#include "transport/membership.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "transport/rank_list.h"

namespace tacit {
namespace {

std::string seconds(Seconds duration) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f s", duration.count());
  return text.data();
}

}  // namespace

Membership::Membership(int rank, int size, Seconds lost_after)
    : rank_(rank),
      lost_after_(lost_after),
      settle_(3 * heartbeat(lost_after)),
      here_(static_cast<std::size_t>(size), true),
      closed_(static_cast<std::size_t>(size)) {}

std::vector<int> Membership::members() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < here_.size(); ++i)
    if (here_[i]) ranks.push_back(static_cast<int>(i));
  return ranks;
}

void Membership::add(const Accusation& what, Seconds now) {
  if (accuses_.empty()) accuses_.resize(here_.size() * here_.size());
  accuses_[pair(what.accuser, what.accused)] = true;
  edges_.push_back({what, now});
}

void Membership::leave(int peer) {
  here_[static_cast<std::size_t>(peer)] = false;
  std::erase_if(edges_, [&](const Edge& edge) {
    const bool its = edge.what.accuser == peer || edge.what.accused == peer;
    if (its) accuses_[pair(edge.what.accuser, edge.what.accused)] = false;
    return its;
  });
}

bool Membership::close(int peer, Seconds now) {
  if (!here(peer)) return true;
  if (now - missed_ < lost_after_) {
    closed_[static_cast<std::size_t>(peer)] = true;
    return false;
  }
  leave(peer);
  died_.push_back(peer);
  return true;
}

void Membership::come_back(int peer) {
  here_[static_cast<std::size_t>(peer)] = true;
  closed_[static_cast<std::size_t>(peer)] = false;
}

void Membership::was_away(Seconds duration, Seconds now) {
  back_ = now;
  if (duration + settle_ < lost_after_)
    return;  // nobody can have given it up: what they last heard was fresh
  missed_ = now;
  away_ = duration;
}

void Membership::hear(const Accusation& accusation, Seconds now) {
  const auto [accuser, accused, silent] = accusation;
  if (accuser == accused || !here(accuser) || !here(accused) || accuses(accuser, accused)) return;
  add(accusation, now);
  if (accused != rank_) to_relay_.push_back(accusation);
}

void Membership::adopt(int by, const Loss& loss) {
  if (loss.rank == rank_) {
    if (end_.empty())
      end_ = "rank " + std::to_string(by) + " and those with it go on without it: " + loss.why;
  } else if (here(loss.rank)) {
    adopted_.push_back({by, loss});
  }
}

Membership::Orders Membership::look(Seconds now, const std::vector<Seconds>& last_heard) {
  Orders orders;
  for (const Adopted& each : std::exchange(adopted_, {}))
    if (here(each.by)) give_up(each.loss, orders);  // those who were given up themselves are not believed
  for (const int peer : std::exchange(died_, {})) orders.tell.push_back({rank_, peer, Seconds(0)});
  accuse_the_silent(now, last_heard, orders);
  for (const Accusation& each : std::exchange(to_relay_, {}))
    if (here(each.accused) && !accuses(rank_, each.accused)) orders.relay.push_back(each);
  if (end_.empty() && settled(now, last_heard)) judge(orders);
  orders.end = end_;
  if (!orders.end.empty() && away_ > Seconds(0))
    orders.end += " (it had been stopped or asleep for " + seconds(away_) + ")";
  return orders;
}

void Membership::accuse_the_silent(Seconds now, const std::vector<Seconds>& last_heard, Orders& orders) {
  for (const int peer : members()) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == rank_ || accuses(rank_, peer)) continue;
    const Seconds silent = now - last_heard[at];
    const bool missed = silent >= lost_after_ && now - back_ >= lost_after_;
    if (!missed && !closed_[at]) continue;
    add({rank_, peer, closed_[at] ? Seconds(0) : silent}, now);
    orders.tell.push_back(edges_.back().what);
  }
}

// Whether nothing more can be heard that would matter: everybody whom nobody accuses has accused the same ranks. Or it
// has been long enough for whoever had something to say. Who has been silent for some beats may be the next that is
// accused, and is no witness: it is heard again, or missed, soon enough.
bool Membership::settled(Seconds now, const std::vector<Seconds>& last_heard) const {
  if (edges_.empty()) return false;
  for (const int peer : members())
    if (peer != rank_ && !accuses(rank_, peer) && now - last_heard[static_cast<std::size_t>(peer)] > settle_)
      return false;
  const auto oldest = std::min_element(edges_.begin(), edges_.end(),
                                       [](const Edge& a, const Edge& b) { return a.since < b.since; });
  if (now - oldest->since >= settle_) return true;
  std::vector<bool> accused(here_.size());
  for (const Edge& edge : edges_) accused[static_cast<std::size_t>(edge.what.accused)] = true;
  bool anybody_left = false;
  for (const int accuser : members()) {
    if (accused[static_cast<std::size_t>(accuser)]) continue;
    anybody_left = true;
    for (const int peer : members())
      if (accused[static_cast<std::size_t>(peer)] && !accuses(accuser, peer)) return false;
  }
  return anybody_left;
}

// Who is left, the same on every rank that has heard the same. Who takes part in most accusations goes first: a rank
// whose own link is cut is at odds with all others, and each of them with one. Among equals, whoever is accused; then
// the higher rank.
std::vector<bool> Membership::stand() const {
  struct Standing {
    int odds = 0;  // with so many
    bool accused = false;
    auto operator<=>(const Standing&) const = default;
  };
  std::vector<bool> standing = here_;
  for (;;) {
    std::vector<Standing> all(here_.size());
    for (const Edge& edge : edges_) {
      const auto a = static_cast<std::size_t>(edge.what.accuser);
      const auto b = static_cast<std::size_t>(edge.what.accused);
      if (!standing[a] || !standing[b]) continue;
      all[b].accused = true;
      if (a > b && accuses(edge.what.accused, edge.what.accuser)) continue;  // counted there
      ++all[a].odds;
      ++all[b].odds;
    }
    // The last of the greatest: the higher rank among equals.
    const auto worst = std::max_element(all.rbegin(), all.rend()).base() - 1;
    if (worst->odds == 0) return standing;
    standing[static_cast<std::size_t>(worst - all.begin())] = false;
  }
}

void Membership::judge(Orders& orders) {
  const std::vector<bool> standing = stand();
  if (!standing[static_cast<std::size_t>(rank_)]) {
    end_ = own_fault();
    return;
  }
  std::vector<int> left;
  std::vector<int> gone;
  for (const int peer : members()) (standing[static_cast<std::size_t>(peer)] ? left : gone).push_back(peer);
  const std::size_t before = left.size() + gone.size();
  if (2 * left.size() > before || (2 * left.size() == before && left.front() < gone.front())) {
    for (const int peer : gone) give_up(reason(peer), orders);
    return;
  }
  end_ = "nothing was heard of " + name_ranks(gone) + " for " + seconds(lost_after_) + ", and " +
         name_ranks(left) + " cannot go on as the smaller part of " + std::to_string(before) +
         ", because the others may be doing so: look at the network between them";
}

void Membership::give_up(const Loss& loss, Orders& orders) {
  if (!here(loss.rank)) return;
  orders.given_up.push_back(accuses(rank_, loss.rank) ? reason(loss.rank) : loss);  // what it knows itself
  leave(loss.rank);
}

Loss Membership::reason(int peer) const {
  const Edge* best = nullptr;
  for (const Edge& edge : edges_)
    if (edge.what.accused == peer && (best == nullptr || edge.what.accuser == rank_)) best = &edge;
  if (best == nullptr)
    return {peer, "it misses ranks that the others hear: its own machine or link is the likely cause"};
  const int accuser = best->what.accuser;
  if (best->what.silent == Seconds(0))
    return {peer, "its connection to rank " + std::to_string(accuser) +
                      " closed without a goodbye: its process ended or was killed, or the connection broke"};
  return {peer, (accuser == rank_ ? "" : "rank " + std::to_string(accuser) + " says that ") +
                    "nothing was heard of it for " + seconds(best->what.silent) +
                    ": its process is stopped, its machine is down, or the network between is cut"};
}

// Why this rank is the one that goes.
std::string Membership::own_fault() const {
  const std::vector<int> before = members();
  std::vector<int> unheard;
  std::vector<int> accusers;
  for (const int peer : before) {
    if (accuses(rank_, peer)) unheard.push_back(peer);
    if (accuses(peer, rank_)) accusers.push_back(peer);
  }
  std::string text;
  if (!unheard.empty()) text = "it heard nothing of " + name_ranks(unheard) + " for " + seconds(lost_after_);
  if (!accusers.empty())
    text += (text.empty() ? "" : ", and ") + name_ranks(accusers) + " heard nothing of it";
  if (unheard.size() + 1 == before.size() && before.size() > 2)
    text += ": its own machine or link is the likely cause";
  return text;
}

}  // namespace tacit
