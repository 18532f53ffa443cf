// SPDX-License-Identifier: MIT
#include "sim/hub.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tacit {
namespace {

// A machine that the cluster file ends. Of no interest to anybody: its peers say that they lost it.
struct Crashed : Error {
  using Error::Error;
};

}  // namespace

SimFabric::Hub::Hub(const Cluster& cluster, std::uint64_t seed, WaitLimits limits, MakeEndpoint make_endpoint)
    : cluster_(cluster), seed_(seed), limits_(checked(std::move(limits))), scheduler_(cluster) {
  const auto ranks = static_cast<std::size_t>(size());
  boxes_.resize(ranks);
  for (sim::Mailbox& each : boxes_) each.under_way.resize(ranks);
  presence_.resize(ranks);
  why_.resize(ranks);
  causes_.resize(ranks);
  crashed_.resize(ranks);
  survives_.resize(ranks);
  computed_.resize(ranks);
  communicated_.resize(ranks);
  behind_.resize(ranks);
  head_start_.resize(ranks);
  paused_.resize(ranks);
  began_.resize(ranks);
  for (auto& each : arrived_) each.resize(ranks);
  pauses_.resize(ranks);
  for (int rank = 0; rank < size(); ++rank) {
    tasks_.emplace_back(scheduler_, rank, cluster_.memory, [this, rank] { require_alive(rank); });
    endpoints_.push_back(make_endpoint(*this, rank, size()));
  }
}

void SimFabric::Hub::run(const std::function<void(int)>& body) {
  for (int rank = 0; rank < size(); ++rank)
    scheduler_.spawn("rank-" + std::to_string(rank), rank, true, [&body, rank] { body(rank); });
  for (const Crash& each : cluster_.crashes) scheduler_.at(each.at, [this, &each] { crash(each); });
  scheduler_.run();
}

void SimFabric::Hub::send(const std::shared_ptr<sim::Message>& message) {
  if (message->to == message->from || message->tag.lane() == Tag::Lane::kControl) return deliver(message);
  scheduler_.transfer(message->from, message->to, message->data.size() + sim::kFraming, [this, message] {
    trace(message->from, message->to, message->tag.bits(), message->data.size());
    std::uint32_t& left = box(message->to).under_way[static_cast<std::size_t>(message->from)];
    --left;
    deliver(message);
    // The last word of a rank that has left: who waits for more does so in vain.
    if (left == 0 && presence_[static_cast<std::size_t>(message->from)] != sim::Presence::kHere)
      scheduler_.wake_rank(message->to);
  });
  ++box(message->to).under_way[static_cast<std::size_t>(message->from)];
}

void SimFabric::Hub::deliver(const std::shared_ptr<sim::Message>& message) {
  sim::Mailbox& to = box(message->to);
  const auto found = std::find_if(to.posted.begin(), to.posted.end(),
                                  [&](auto* r) { return r->matches(message->from, message->tag); });
  sim::Receiver* const receiver = found == to.posted.end() ? nullptr : *found;
  const bool owned = !message->copy.empty() || message->data.empty();
  if (!owned && (receiver == nullptr || receiver->borrows())) message->keep_copy();
  if (receiver == nullptr) {
    to.messages.push_back(message);
  } else {
    to.posted.erase(found);
    receiver->accept(message);
  }
  message->arrived = true;
  scheduler_.wake(message->done);
}

void SimFabric::Hub::leave(int rank, sim::Presence how, const std::string& why) {
  const auto at = static_cast<std::size_t>(rank);
  if (why_[at].empty()) why_[at] = why;  // the first reason is the true one
  if (presence_[at] != sim::Presence::kHere) return;
  presence_[at] = how;
  if (how == sim::Presence::kFailed) failed_ = rank;
  for (const auto& [to, tag] : news_.leave(rank))
    deliver(std::make_shared<sim::Message>(rank, to, tag, scheduler_.now(), ConstBytes()));
  scheduler_.wake_everyone();
}

void SimFabric::Hub::tell_departures(int rank, Tag tag) {
  for (const int gone : news_.subscribe({rank, tag}))
    deliver(std::make_shared<sim::Message>(gone, rank, tag, scheduler_.now(), ConstBytes()));
}

std::vector<Loss> SimFabric::Hub::losses() const {
  std::vector<Loss> losses;
  for (int rank = 0; rank < scheduler_.size(); ++rank)
    if (presence_[static_cast<std::size_t>(rank)] == sim::Presence::kFailed)
      losses.push_back({rank, why_[static_cast<std::size_t>(rank)]});
  return losses;
}

void SimFabric::Hub::fail(int rank, const std::exception_ptr& error) {
  const auto at = static_cast<std::size_t>(rank);
  if (error && presence_[at] == sim::Presence::kFailed) return;  // its own end wakes its agents: no cause
  if (error && !causes_[at]) causes_[at] = error;
  leave(rank, sim::Presence::kFailed, error ? "its agent failed: " + describe(error) : "");
}

void SimFabric::Hub::crash(const Crash& crash) {
  const auto at = static_cast<std::size_t>(crash.rank);
  if (presence_[at] != sim::Presence::kHere) return;
  crashed_[at] = true;
  leave(crash.rank, sim::Presence::kFailed,
        "it crashed at " + std::to_string(crash.at.count()) + " s, as the cluster file says");
}

bool SimFabric::Hub::hopeless(const MessageWait& what) {
  const auto [rank, peer, tag] = what;
  if (interrupted_.load() || crashed(rank) || !scheduler_.deadlock().empty()) return true;
  if (survives(rank) && failed_ != kAnyRank) {
    if (!here(rank) || (peer != kAnyRank && tag.is_collective())) return true;
    if (peer == kAnyRank) return false;
  }
  const int whom = peer == kAnyRank ? failed_ : peer;
  if (whom == kAnyRank) return false;
  return presence_[static_cast<std::size_t>(whom)] != sim::Presence::kHere &&
         box(rank).under_way[static_cast<std::size_t>(whom)] == 0;
}

void SimFabric::Hub::give_up(int rank, int peer, Tag tag) {
  require_alive(rank);
  if (interrupted_.load()) throw Interrupted("rank " + std::to_string(rank) + ": the run was interrupted");
  const int gone = peer == kAnyRank || here(peer) ? failed_ : peer;
  const bool left = gone != kAnyRank && presence_[static_cast<std::size_t>(gone)] != sim::Presence::kHere;
  if (!left) throw Error(scheduler_.deadlock());
  const std::string& why = why_[static_cast<std::size_t>(gone)];
  throw PeerLost(rank, gone,
                 (why.empty() ? "it is failing" : why) + " (" + describe_wait(rank, peer, tag) + ")");
}

void SimFabric::Hub::spend_compute(int rank, std::int64_t step) {
  const auto at = static_cast<std::size_t>(rank);
  began_[at] = true;
  const Seconds time = compute_time(cluster_, seed_, rank, step);
  tasks(rank).clock().sleep(time - std::exchange(head_start_[at], Seconds(0)));
  computed_[at] += time.count();
  trace(rank, rank, static_cast<std::uint64_t>(step), 0);
}

void SimFabric::Hub::pause(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  paused_[at] = true;
  arrived_[++pauses_[at] % 2][at] = scheduler_.now();
}

// Everyone has arrived. Each rank goes on (last - first arrival) after its own arrival, so that leads are kept.
void SimFabric::Hub::resume(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const std::vector<Seconds>& came = arrived_[pauses_[at] % 2];
  Seconds first = came[at];
  Seconds last = came[at];
  for (int each = 0; each < size(); ++each) {
    if (!here(each)) continue;  // it did not come
    first = std::min(first, came[static_cast<std::size_t>(each)]);
    last = std::max(last, came[static_cast<std::size_t>(each)]);
  }
  tasks(rank).clock().sleep(came[at] + (last - first) - scheduler_.now());
  paused_[at] = false;
}

void SimFabric::Hub::count_wait(Seconds from, Seconds sent) {
  const int rank = scheduler_.rank();
  const auto at = static_cast<std::size_t>(rank);
  if (paused_[at] || !began_[at]) return;
  const Seconds under_way = std::max(from, sent);
  if (scheduler_.is_trainer()) {
    communicated_[at] += (scheduler_.now() - under_way).count();
  } else if (const auto idle = scheduler_.idle_since(rank)) {
    behind_[at].add(std::max(under_way, *idle), scheduler_.now());
  }
}

double SimFabric::Hub::communicated(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return communicated_[at] += behind_[at].take(scheduler_.now()).count();
}

void SimFabric::Hub::trace(int from, int to, std::uint64_t what, std::uint64_t size) {
  struct Event {
    double time;
    std::int64_t from;
    std::int64_t to;
    std::uint64_t what;
    std::uint64_t size;
  };
  const Event event{scheduler_.now().count(), from, to, what, size};
  hash_ = hash_bytes(std::as_bytes(std::span(&event, 1)), hash_);
}

void SimFabric::Hub::require_alive(int rank) const {
  if (crashed(rank)) throw Crashed("rank " + std::to_string(rank) + " crashed");
}

}  // namespace tacit
