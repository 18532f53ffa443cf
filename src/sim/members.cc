// SPDX-License-Identifier: MIT
#include "sim/members.h"

#include <algorithm>
#include <utility>

#include "tacit/core/rng.h"

namespace tacit::sim {
namespace {

// So many times `lost_after` after the last fault, or the last word about one, nothing more comes of it.
constexpr double kSettling = 4;

}  // namespace

Members::Members(const Surroundings& around, Seconds lost_after, std::uint64_t seed)
    : around_(around), lost_after_(lost_after), seed_(seed) {
  const auto ranks = at(size());
  for (int rank = 0; rank < size(); ++rank) memberships_.emplace_back(rank, size(), lost_after);
  heard_.assign(ranks, std::vector<Seconds>(ranks));
  unread_.assign(ranks, std::vector<bool>(ranks));
  left_.resize(ranks);
  back_.resize(ranks);
}

void Members::start() {
  for (int rank = 0; rank < size(); ++rank) {
    Rng rng(seed_, rank, 0, Rng::Use::kFault);  // ranks do not beat together
    expect_beat(rank, heartbeat(lost_after_) * static_cast<double>(rng.uniform()));
  }
}

void Members::tell(int from, int to, std::function<void()> fn) {
  const Seconds late = around_.plan.delay(from, to, now(), FaultPlan::Kind::kWord);
  around_.pipes.control(from, to, late, [this, to, fn = std::move(fn)] {
    in_turn([this, to, fn] {
      if (left_[at(to)]) return;
      notice_stop(to);
      fn();
      look(to);
    });
  });
}

void Members::in_turn(std::function<void()> fn) {
  waiting_.push_back(std::move(fn));
  if (std::exchange(busy_, true)) return;
  while (!waiting_.empty()) {
    const std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
  busy_ = false;
}

// --- heartbeats

void Members::expect_beat(int rank, Seconds when) {
  around_.scheduler.at(
      when, [this, rank] { beat(rank); }, settling());
}

bool Members::settling() const {
  Seconds last = changed_;
  const auto add = [&](Seconds when) {
    if (when <= now()) last = std::max(last, when);
  };
  for (const Cut& cut : around_.cluster.cuts) {
    add(cut.at);
    add(cut.until);
  }
  for (const Stop& stop : around_.cluster.stops) {
    add(stop.at);
    add(stop.until);
  }
  for (const Crash& crash : around_.cluster.crashes) add(crash.at);
  return now() < last + kSettling * lost_after_;
}

void Members::beat(int rank) {
  if (left_[at(rank)]) return;
  const Deadline awake = around_.plan.continued(rank, now());
  if (awake == kNever) return;
  if (awake > now()) return expect_beat(rank, awake);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank || around_.plan.cut(rank, peer, now())) continue;
    if (around_.plan.stopped(peer, now())) {
      unread_[at(peer)][at(rank)] = true;
    } else {
      heard_[at(peer)][at(rank)] = now();
    }
  }
  in_turn([this, rank] { look(rank); });
  expect_beat(rank, now() + heartbeat(lost_after_));
}

// A rank that goes on knows that it was away before it reads what came meanwhile.
void Members::notice_stop(int rank) {
  for (const Stop& stop : around_.cluster.stops) {
    if (stop.rank != rank || stop.until > now() || stop.until <= back_[at(rank)]) continue;
    back_[at(rank)] = stop.until;
    memberships_[at(rank)].was_away(stop.until - stop.at, now());
    for (std::size_t peer = 0; peer < left_.size(); ++peer)
      if (unread_[at(rank)][peer]) heard_[at(rank)][peer] = now();
    unread_[at(rank)].assign(left_.size(), false);
  }
}

// --- what ranks say

void Members::look(int rank) {
  if (left_[at(rank)] || around_.plan.stopped(rank, now())) return;
  notice_stop(rank);
  carry_out(rank, memberships_[at(rank)].look(now(), heard_[at(rank)]));
}

void Members::carry_out(int rank, const Membership::Orders& orders) {
  const bool news = !orders.tell.empty() || !orders.relay.empty() || !orders.given_up.empty();
  if (news || !orders.end.empty()) changed_ = now();
  const auto accuse = [&](const Accusation& what, int to) {
    tell(rank, to, [this, to, what] { memberships_[at(to)].hear(what, now()); });
  };
  for (const Accusation& each : orders.tell)
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank && memberships_[at(rank)].here(peer)) accuse(each, peer);
  for (const Accusation& each : orders.relay) accuse(each, each.accused);
  for (const Loss& loss : orders.given_up) {
    spread(rank, loss, loss.rank);
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank && memberships_[at(rank)].here(peer)) spread(rank, loss, peer);
    around_.owner.on_loss(rank, loss);
  }
  if (!orders.end.empty()) around_.owner.on_end(rank, orders.end);
}

void Members::spread(int rank, const Loss& loss, int to) {
  tell(rank, to, [this, rank, to, loss] { memberships_[at(to)].adopt(rank, loss); });
}

// `rank` sees that its connection to the peer is closed.
void Members::close(int rank, int peer, const std::string& why) {
  if (!memberships_[at(rank)].here(peer)) return;
  if (memberships_[at(rank)].close(peer, now())) around_.owner.on_death(rank, {peer, why});
}

void Members::leave(int rank, const Departure& how) {
  if (left_[at(rank)]) return;
  left_[at(rank)] = true;
  changed_ = now();
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank)
      tell(rank, peer, [this, rank, peer, how] {
        if (!memberships_[at(peer)].here(rank)) return;
        memberships_[at(peer)].leave(rank);
        around_.owner.on_goodbye(peer, rank, how);
      });
}

void Members::die(int rank, const std::string& why) {
  if (left_[at(rank)]) return;
  left_[at(rank)] = true;
  changed_ = now();
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank) tell(rank, peer, [this, rank, peer, why] { close(peer, rank, why); });
}

}  // namespace tacit::sim
