// SPDX-License-Identifier: MIT
// Who starts a collective that not all ranks have come to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/core/state.h"

namespace tacit {

// Partial collectives are numbered 0, 1, 2, ..., and run in that order on every rank, beside its trainer. This one
// knows when; what they do is somebody else's. A number that is activated activates all before it.
//
// By::kFirst  whoever comes first activates it on all ranks. With patience it waits a while before it does, so that
//             those who come a moment later are in it too: who comes tells a rank that is another one for every number,
//             and when all have come, that one activates it at once. The wait is a share of the time that the trainer
//             needs from one to the next, as a rule.
// By::kDrawn  one rank, drawn for every number and the same for all, activates it when it comes; the others wait for
//             it.
// By::kAll    nobody starts it for another: each rank does when its trainer comes, and it ends when all have.
//
// News     who activates sends 32 bytes to the ranks 1, 2, 4, ... places further on; who hears it from 2^k places
//          behind tells those 2^(k+1) places and more ahead. So each rank is told, in log2 P rounds at most, and sends
//          log2 P messages at most, however many ranks came first at the same time. One activator sends P - 1 in all.
//          Who comes before the drawn one asks it, in 32 bytes, and has an empty answer. kAll sends none.
// Threads  the trainer's task.
// Losses   where the world goes on without a lost rank, those that it would have told come themselves. Elsewhere who
//          waits for the drawn rank ends with PeerLost when any is lost. A wait that lasts names the drawn rank.
class Activation {
 public:
  enum class By { kFirst, kDrawn, kAll };
  struct Manner {
    double patience = 0;     // kFirst: as a share of the usual time from one to the next; 0: none
    std::uint64_t seed = 0;  // kDrawn: equal on all ranks
  };
  // Starts everything up to this number on this rank, in order, and returns at once; called again for what has been
  // started, it does nothing. Any task.
  using Start = std::function<void(std::int64_t number)>;
  // Waits for the collective to end, so long at most; whether it has.
  using OverWithin = std::function<bool(Seconds)>;

  // Made on every rank alike.
  Activation(Comm& comm, Manner manner, Start start);
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  // The trainer comes to a collective and goes on from it: its usual time is measured from the one to the other.
  void come();
  void leave();
  // The trainer has begun to come to this number. Activates it where that is this rank's to do at once; whether it was.
  bool begin(std::int64_t number, By by);
  // The trainer wants this number, which is not over here. Returns when it is over or has been started.
  void want(std::int64_t number, By by, const OverWithin& over_within);
  // What who comes first and who is drawn depend on. Between two collectives, by the trainer.
  void save(StateWriter& state) const;
  void load(StateReader& state);
  // Nobody wants anything any more, on any rank.
  void stop() { service_->stop(); }

 private:
  // What this rank has told of the newest number it heard of: the rounds from `told_from` on.
  struct News {
    std::int64_t number = -1;
    int told_from = 0;
  };
  // A trainer, until this rank, which was drawn, activates a number.
  struct Waiting {
    std::int64_t number;
    std::unique_ptr<Answer> answer;
  };

  int drawn(std::int64_t number) const;
  void activate(std::int64_t number);
  void post(int peer, std::uint32_t method, std::int64_t number);
  void hear(const Call& call, std::unique_ptr<Answer> answer);
  void tell(std::int64_t number, int first_round);
  void count_in(std::int64_t number);

  Comm& comm_;
  Manner manner_;
  const Start start_;
  Seconds left_;     // when the trainer last did
  Seconds pace_{0};  // how long it needs to come again, as a rule; 0: not known yet

  // The agent's.
  News news_;
  std::map<std::int64_t, int> here_;  // how many have come to a number that is not activated yet
  std::vector<Waiting> waiting_;
  std::unique_ptr<Service> service_;  // after what it uses
};

// Where a rank is among those that live.
int place_among(std::span<const int> living, int rank);

}  // namespace tacit
