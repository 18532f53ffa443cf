// SPDX-License-Identifier: MIT
// What the ranks of a simulated world have in common. Actors run one at a time and switch only where they sleep:
// nothing here needs a lock.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/hash.h"
#include "sim/actors.h"
#include "sim/fabric.h"
#include "sim/fault_plan.h"
#include "sim/mailbox.h"
#include "sim/members.h"
#include "sim/pieces.h"
#include "sim/pipes.h"
#include "sim/scheduler.h"
#include "tacit/core/error.h"
#include "transport/limits.h"
#include "transport/roster.h"

namespace tacit {
class SimFabric::Hub : private sim::MembersOwner {
 public:
  using MakeEndpoint = std::unique_ptr<Endpoint> (*)(Hub& hub, int rank, int ranks);
  Hub(const Cluster& cluster, std::uint64_t seed, const SimOptions& options, MakeEndpoint make_endpoint);

  sim::Scheduler& scheduler() { return scheduler_; }
  int size() const { return scheduler_.size(); }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  sim::SimTasks& tasks(int rank) { return tasks_[static_cast<std::size_t>(rank)]; }
  sim::Mailbox& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }

  void run(const std::function<void(int)>& body);
  void leave(int rank, const Departure& how);
  void fail(int rank, const std::exception_ptr& error);
  void interrupt() {
    for (Roster& each : rosters_) each.interrupt();
  }
  bool crashed(int rank) const { return crashed_[static_cast<std::size_t>(rank)]; }
  // Throws where the rank's machine has crashed.
  void require_alive(int rank) const;

  // What the rank knows.
  Roster& roster(int rank) { return rosters_[divided() ? static_cast<std::size_t>(rank) : 0]; }
  // Whether each rank has a roster of its own: what one knows the others may not, and what is sent may never arrive.
  bool divided() const { return members_.has_value(); }

  void send(const std::shared_ptr<sim::Message>& message);
  bool hopeless(const MessageWait& what);
  // Sleeps at the gate until done(), within the limits. Throws where that is hopeless.
  template <class Done>
  void wait(sim::Gate& gate, const MessageWait& what, const Done& done);
  template <class Done>
  bool ready_by(sim::Gate& gate, const MessageWait& what, const Done& done, Deadline deadline);

  void spend_compute(int rank, std::int64_t step, double share);
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
  // MembersOwner
  void on_goodbye(int rank, int peer, const Departure& how) override { mark(rank, peer, how); }
  void on_loss(int rank, const Loss& loss) override;
  void on_death(int rank, const Loss& loss) override { mark(rank, loss.rank, {true, loss.why}); }
  void on_end(int rank, const std::string& why) override { leave(rank, {true, why, rank}); }

  [[noreturn]] void give_up(const MessageWait& what);
  void mark(int rank, int gone, const Departure& how);
  void carry(const std::shared_ptr<sim::Message>& message);
  void arrive(const std::shared_ptr<sim::Message>& message);
  void deliver(const std::shared_ptr<sim::Message>& message);
  void schedule_faults();
  void crash(int rank, const std::string& why);
  void trace(int from, int to, std::uint64_t what, std::uint64_t size);

  const Cluster cluster_;
  const std::uint64_t seed_;
  const WaitLimits limits_;
  sim::Scheduler scheduler_;
  sim::FaultPlan plan_;
  const bool holds_;  // whether faults may hold messages back
  sim::Pipes pipes_;
  std::optional<sim::Members> members_;  // where ranks may come to know different things
  std::deque<Roster> rosters_;           // by rank where there are members; else one for all
  std::deque<sim::Mailbox> boxes_;
  std::deque<sim::SimTasks> tasks_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<bool> crashed_;

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
  if (!done()) give_up(what);
}

template <class Done>
bool SimFabric::Hub::ready_by(sim::Gate& gate, const MessageWait& what, const Done& done, Deadline deadline) {
  while (!done() && !hopeless(what) && scheduler_.now() < deadline)
    scheduler_.sleep(gate, {sim::Reason::Kind::kMessage, what.peer, what.tag}, deadline);
  return done() || hopeless(what);
}

}  // namespace tacit
