// SPDX-License-Identifier: MIT
// Who is still here, as each simulated rank comes to know it: by heartbeats, closed connections and what others say.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/fault_plan.h"
#include "sim/pipes.h"
#include "sim/scheduler.h"
#include "transport/fabric.h"
#include "transport/membership.h"

namespace tacit::sim {

class MembersOwner {
 public:
  virtual ~MembersOwner() = default;
  // `rank` reads that a peer has left, gives one up, sees that one died, or finds out that it must end itself.
  virtual void on_goodbye(int rank, int peer, const Departure& how) = 0;
  virtual void on_loss(int rank, const Loss& loss) = 0;
  virtual void on_death(int rank, const Loss& loss) = 0;
  virtual void on_end(int rank, const std::string& why) = 0;
};

// One Membership per rank, as over TCP, and what goes between them. Heartbeats and these words take no time; cuts and
// stops hold them back, and words may be late.
//
// Lifetime  what it is given outlives it. Threads: as Scheduler.
class Members {
 public:
  struct Surroundings {
    Scheduler& scheduler;
    const Cluster& cluster;
    FaultPlan& plan;
    Pipes& pipes;
    MembersOwner& owner;
  };
  Members(const Surroundings& around, Seconds lost_after, std::uint64_t seed);

  void start();
  // The rank says goodbye, or its process dies: its connections close.
  void leave(int rank, const Departure& how);
  void die(int rank, const std::string& why);

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  int size() const { return around_.scheduler.size(); }
  Seconds now() const { return around_.scheduler.now(); }
  // What a rank sends to another in this way, and what that does with it.
  void tell(int from, int to, std::function<void()> fn);
  void in_turn(std::function<void()> fn);
  void expect_beat(int rank, Seconds when);
  void beat(int rank);
  void notice_stop(int rank);
  void look(int rank);
  void carry_out(int rank, const Membership::Orders& orders);
  void close(int rank, int peer, const std::string& why);
  void spread(int rank, const Loss& loss, int to);
  bool settling() const;

  const Surroundings around_;
  const Seconds lost_after_;
  const std::uint64_t seed_;
  std::vector<Membership> memberships_;
  std::vector<std::vector<Seconds>> heard_;  // by rank and peer: when last
  std::vector<std::vector<bool>> unread_;    // likewise: came while the rank was stopped
  std::vector<bool> left_;
  std::vector<Seconds> back_;  // by rank: when it noticed last that it had been stopped
  Seconds changed_{0};         // when the last rank had something to say
  std::deque<std::function<void()>>
      waiting_;  // what one rank's orders do to others waits until they are done
  bool busy_ = false;
};

}  // namespace tacit::sim
