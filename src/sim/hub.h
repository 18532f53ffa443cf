// SPDX-License-Identifier: MIT
// What the ranks of a simulated world have in common. Actors run one at a time and switch only where they sleep:
// nothing here needs a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/actors.h"
#include "sim/scheduler.h"
#include "tacit/core/error.h"
#include "tacit/core/hash.h"
#include "tacit/core/phantom.h"
#include "tacit/sim/fabric.h"
#include "transport/departure_news.h"
#include "transport/limits.h"

namespace tacit {
namespace sim {

constexpr std::size_t kFraming = 24;  // what TCP adds to a message, src/transport/tcp/frame.h

enum class Presence { kHere, kDone, kFailed };

// Owned by the network, the mailbox, and the operations at both ends, of which any may be the last.
struct Message {
  Message(int sender, int receiver, Tag what, Seconds when, ConstBytes bytes)
      : from(sender), to(receiver), tag(what), sent(when), data(bytes) {}
  const int from;
  const int to;
  const Tag tag;
  const Seconds sent;
  ConstBytes data;
  std::vector<std::byte> copy{};  // what data points to, once the sender's buffer is no longer needed
  bool arrived = false;
  Gate done{};  // where the sender waits
  void keep_copy() {
    if (Phantom::holds(data.data())) return;  // there is nothing to copy, and it stays where it is
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

// A receive that was posted.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual bool matches(int from, Tag tag) const = 0;
  virtual bool borrows() const = 0;
  // Called by whoever took it off the posted list or never put it there.
  virtual void accept(std::shared_ptr<Message> message) = 0;
};

// Time in pieces that may overlap, each ending no earlier than those before it.
class Pieces {
 public:
  void add(Seconds from, Seconds to) {
    from = std::max(from, taken_);
    while (!pieces_.empty() && pieces_.back().from >= from) pieces_.pop_back();
    if (!pieces_.empty()) from = std::max(from, pieces_.back().to);
    if (from < to) pieces_.push_back({from, to});
  }
  // How long there was one piece or more, since this was asked last.
  Seconds take(Seconds now) {
    taken_ = now;
    Seconds sum{0};
    for (const Piece& each : std::exchange(pieces_, {})) sum += each.to - each.from;
    return sum;
  }

 private:
  struct Piece {
    Seconds from;
    Seconds to;
  };
  std::vector<Piece> pieces_;  // none overlap
  Seconds taken_{0};           // what was before is counted
};

// What waits at one rank, as in the transport between threads.
struct Mailbox {
  std::deque<std::shared_ptr<Message>> messages;
  std::vector<Receiver*> posted;
  std::vector<std::uint32_t> under_way;  // messages to this rank, by sender
};

}  // namespace sim

class SimFabric::Hub {
 public:
  using MakeEndpoint = std::unique_ptr<Endpoint> (*)(Hub& hub, int rank, int ranks);
  Hub(const Cluster& cluster, std::uint64_t seed, WaitLimits limits, MakeEndpoint make_endpoint);

  sim::Scheduler& scheduler() { return scheduler_; }
  int size() const { return scheduler_.size(); }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  sim::SimTasks& tasks(int rank) { return tasks_[static_cast<std::size_t>(rank)]; }
  sim::Mailbox& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }

  void run(const std::function<void(int)>& body);
  void leave(int rank, sim::Presence how, const std::string& why);
  void fail(int rank, const std::exception_ptr& error);
  std::exception_ptr cause(int rank) const { return causes_[static_cast<std::size_t>(rank)]; }
  void interrupt() { interrupted_.store(true); }
  bool crashed(int rank) const { return crashed_[static_cast<std::size_t>(rank)]; }
  // Throws where the rank's machine has crashed.
  void require_alive(int rank) const;

  void survive(int rank) { survives_[static_cast<std::size_t>(rank)] = true; }
  bool survives(int rank) const { return survives_[static_cast<std::size_t>(rank)]; }
  void tell_departures(int rank, Tag tag);
  std::vector<Loss> losses() const;
  bool here(int rank) const { return presence_[static_cast<std::size_t>(rank)] == sim::Presence::kHere; }

  void send(const std::shared_ptr<sim::Message>& message);
  bool hopeless(const MessageWait& what);
  [[noreturn]] void give_up(int rank, int peer, Tag tag);
  // Sleeps at the gate until done() or hopeless(peer), within the limits.
  template <class Done>
  void wait(sim::Gate& gate, const MessageWait& what, const Done& done);
  template <class Done>
  bool ready_by(sim::Gate& gate, const MessageWait& what, const Done& done, Deadline deadline);

  void spend_compute(int rank, std::int64_t step);
  void grant_head_start(int rank, Seconds duration) {
    head_start_[static_cast<std::size_t>(rank)] = duration;
  }
  void pause(int rank);
  void resume(int rank);
  // The running actor has waited since `from` for a message that was sent then.
  void count_wait(Seconds from, Seconds sent);
  double computed(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return computed_[at] + tasks_[at].clock().worked().count();
  }
  double communicated(int rank);
  std::uint64_t trace_hash() const { return hash_; }

 private:
  void deliver(const std::shared_ptr<sim::Message>& message);
  void crash(const Crash& crash);
  void trace(int from, int to, std::uint64_t what, std::uint64_t size);

  const Cluster cluster_;
  const std::uint64_t seed_;
  const WaitLimits limits_;
  sim::Scheduler scheduler_;
  std::deque<sim::Mailbox> boxes_;
  std::deque<sim::SimTasks> tasks_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<sim::Presence> presence_;
  std::vector<std::string> why_;
  std::vector<std::exception_ptr> causes_;
  std::vector<bool> crashed_;
  std::vector<bool> survives_;
  DepartureNews news_;
  int failed_ = kAnyRank;  // a rank that failed, if one did
  std::atomic<bool> interrupted_{false};

  std::vector<double> computed_;
  std::vector<double> communicated_;
  std::vector<sim::Pieces> behind_;  // by rank: its tasks communicated while its trainer waited for them
  std::vector<Seconds> head_start_;  // by rank, for its next gradient
  // When each rank came to its n-th pause, for the last two pauses: nobody leaves one before all have come, so the
  // one before is over.
  std::array<std::vector<Seconds>, 2> arrived_;
  std::vector<std::size_t> pauses_;  // by rank, the one it is in included
  std::vector<bool> paused_;
  std::vector<bool> began_;  // to train
  std::uint64_t hash_ = hash_bytes({});
};

template <class Done>
void SimFabric::Hub::wait(sim::Gate& gate, const MessageWait& what, const Done& done) {
  wait_within(limits_, tasks(what.rank).clock(), what,
              [&](Deadline deadline) { return ready_by(gate, what, done, deadline); });
}

template <class Done>
bool SimFabric::Hub::ready_by(sim::Gate& gate, const MessageWait& what, const Done& done, Deadline deadline) {
  while (!done() && !hopeless(what) && scheduler_.now() < deadline)
    scheduler_.sleep(gate, {sim::Reason::Kind::kMessage, what.peer, what.tag}, deadline);
  return done() || hopeless(what);
}

}  // namespace tacit
