// SPDX-License-Identifier: MIT
#include "sim/hub.h"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/departure.h"

namespace tacit {
namespace {

// A machine that the cluster file ends. Of no interest to anybody: its peers say that they lost it.
struct Crashed : Error {
  using Error::Error;
};

}  // namespace

SimFabric::Hub::Hub(const Cluster& cluster, std::uint64_t seed, const SimOptions& options,
                    MakeEndpoint make_endpoint)
    : cluster_(cluster),
      seed_(seed),
      limits_(checked(options.limits)),
      scheduler_(cluster),
      plan_(cluster_, seed),
      holds_(plan_.divides() || !cluster_.late.empty()),
      pipes_(scheduler_, plan_) {
  const auto ranks = static_cast<std::size_t>(size());
  if (plan_.divides()) {
    sim::MembersOwner& owner = *this;
    members_.emplace(sim::Members::Surroundings{scheduler_, cluster_, plan_, pipes_, owner},
                     options.lost_after, seed);
  }
  const auto tell = [this](int gone, int to, Tag tag) {
    deliver(std::make_shared<sim::Message>(gone, to, tag, scheduler_.now(), ConstBytes()));
  };
  for (int i = 0; i < (divided() ? size() : 1); ++i) rosters_.emplace_back(size(), tell);
  for (std::size_t i = 0; i < ranks; ++i) boxes_.emplace_back(ranks);
  crashed_.resize(ranks);
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
  schedule_faults();
  scheduler_.run();
}

// --- messages

void SimFabric::Hub::send(const std::shared_ptr<sim::Message>& message) {
  const auto [from, to] = std::pair(message->from, message->to);
  if (to == from) return deliver(message);
  if (message->tag.lane() == Tag::Lane::kControl) {
    if (!holds_) return deliver(message);
    return pipes_.control(from, to, Seconds(0), [this, message] { deliver(message); });
  }
  ++box(to).under_way[static_cast<std::size_t>(from)];
  holds_ ? pipes_.leave(from, to, [this, message] { carry(message); }) : carry(message);
}

void SimFabric::Hub::carry(const std::shared_ptr<sim::Message>& message) {
  scheduler_.transfer(message->from, message->to, message->data.size() + sim::kFraming, [this, message] {
    if (!holds_) return arrive(message);
    const Seconds late =
        plan_.delay(message->from, message->to, scheduler_.now(), sim::FaultPlan::Kind::kMessage);
    pipes_.arrive(message->from, message->to, late, [this, message] { arrive(message); });
  });
}

void SimFabric::Hub::arrive(const std::shared_ptr<sim::Message>& message) {
  trace(message->from, message->to, message->tag.bits(), message->data.size());
  std::uint32_t& left = box(message->to).under_way[static_cast<std::size_t>(message->from)];
  --left;
  deliver(message);
  // The last word of a rank that has left: who waits for more does so in vain.
  if (left == 0 && !roster(message->to).here(message->from)) scheduler_.wake_rank(message->to);
}

// --- who leaves

// The rank learns that another has left, or that it has itself.
void SimFabric::Hub::mark(int rank, int gone, const Departure& how) {
  if (!roster(rank).mark(gone, how)) return;
  divided() ? scheduler_.wake_rank(rank) : scheduler_.wake_everyone();
}

void SimFabric::Hub::leave(int rank, const Departure& how) {
  mark(rank, rank, how);
  if (members_) members_->leave(rank, how);
}

// What it still sends is as if it had come a moment earlier, but nobody waits for it.
void SimFabric::Hub::on_loss(int rank, const Loss& loss) {
  box(rank).given_up[static_cast<std::size_t>(loss.rank)] = true;
  mark(rank, loss.rank, {true, loss.why});
}

void SimFabric::Hub::fail(int rank, const std::exception_ptr& error) {
  Roster& known = roster(rank);
  if (error && !known.blame(rank, error)) return;
  leave(rank, error ? agent_failure(error) : known.consequence(rank).value_or(Departure{true, ""}));
}

void SimFabric::Hub::schedule_faults() {
  for (const Crash& each : cluster_.crashes)
    scheduler_.at(each.at, [this, rank = each.rank, when = each.at] {
      crash(rank, "it crashed at " + std::to_string(when.count()) + " s, as the cluster file says");
    });
  for (const Stop& each : cluster_.stops) {
    scheduler_.at(each.at, [this, rank = each.rank] {
      if (plan_.stopped(rank, scheduler_.now()) && !crashed(rank)) scheduler_.stop(rank);
    });
    if (each.until == kNever) continue;
    scheduler_.at(each.until, [this, each] {
      if (!plan_.stopped(each.rank, scheduler_.now())) scheduler_.resume(each.rank);
    });
  }
  // The others have ended and whoever started them ends it.
  scheduler_.on_standstill([this](int rank) { crash(rank, "it was stopped for good"); });
  if (members_) members_->start();
}

void SimFabric::Hub::crash(int rank, const std::string& why) {
  scheduler_.resume(rank);  // to unwind
  if (!roster(rank).here(rank)) return scheduler_.wake_rank(rank);
  crashed_[static_cast<std::size_t>(rank)] = true;
  mark(rank, rank, {true, why});
  if (members_) members_->die(rank, why);
}

// --- waits

bool SimFabric::Hub::hopeless(const MessageWait& what) {
  const Roster& known = roster(what.rank);
  if (crashed(what.rank) || !scheduler_.deadlock().empty() || known.over(what)) return true;
  const int gone = known.missing(what);
  if (gone == kAnyRank) return false;
  const sim::Mailbox& own = box(what.rank);
  return own.given_up[static_cast<std::size_t>(gone)] || own.under_way[static_cast<std::size_t>(gone)] == 0;
}

void SimFabric::Hub::give_up(const MessageWait& what) {
  require_alive(what.rank);
  const Roster& known = roster(what.rank);
  if (!known.interrupted() && known.whom(what) == kAnyRank) throw Error(scheduler_.deadlock());
  known.give_up(what);
}

void SimFabric::Hub::spend_compute(int rank, std::int64_t step, double share) {
  const auto at = static_cast<std::size_t>(rank);
  began_[at] = true;
  const Seconds time = share * compute_time(cluster_, seed_, rank, step);
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
    if (!roster(rank).here(each)) continue;  // it did not come
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
