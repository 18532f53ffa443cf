// SPDX-License-Identifier: MIT
// Who is here, who has left and why, and what that means for those who wait: one set of rules for all transports.
//
// A wait is in vain once
//   the run is interrupted;
//   the rank that waits has itself failed: its tasks need not wait for each other any more;
//   the peer it waits for has left, done or failed;
//   it is for any rank, and one has failed; where the rank survives, that is news (tell_departures) and no end;
//   it is in a collective with a peer that is here, the rank survives, and anybody has failed: the peer may have left
//   the collective for that reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/error.h"
#include "transport/fabric.h"
#include "transport/limits.h"

namespace tacit {

// What is known of all ranks: to one rank, where each is told by itself, or to all of them, where they share a memory.
//
// Threads  any. It has a lock of its own, which it holds while it calls nobody, so that a transport may ask it under
//          locks of its own. Questions that are asked on every look of a wait take no lock.
class Roster {
 public:
  // Brings `to` an empty message with this tag from the rank that has left. Called without the lock.
  using Tell = std::function<void(int gone, int to, Tag tag)>;
  explicit Roster(int ranks, Tell tell = {})
      : tell_(std::move(tell)),
        presence_(static_cast<std::size_t>(ranks)),
        survives_(static_cast<std::size_t>(ranks)),
        departures_(static_cast<std::size_t>(ranks)) {}

  // --- presence

  // Throws Bug for what is no rank of this world.
  void check(int rank) const {
    TACIT_CHECK(rank >= 0 && at(rank) < presence_.size(), "there is no rank " + std::to_string(rank));
  }
  bool here(int rank) const { return presence_[at(rank)].load() == Presence::kHere; }
  bool failed(int rank) const { return presence_[at(rank)].load() == Presence::kFailed; }
  // Ever, be it back or not.
  bool anybody_failed() const { return failed_.load() != kAnyRank; }
  // In the order of the ranks.
  std::vector<Loss> losses() const;

  // Why it left when it did last.
  std::string why(int rank) const;

  // A rank has left; tells those who want to know. True the first time, and the first reason that is not empty is the
  // true one. Whoever calls it wakes those who wait.
  bool mark(int rank, const Departure& how);
  // Endpoint::tell_departures of the rank `to`.
  void tell_departures(int to, Tag tag);
  // With which tags departures are told.
  std::vector<Tag> wishes() const;

  // A rank that had left is here again. Nothing of its earlier life may be under way: a wait that has not ended by then
  // would go on.
  void come_back(int rank);
  // This rank has come back to a world that had lost it: what anybody_failed() means holds from the start.
  void begin_disturbed(int rank);

  void survive(int rank) { survives_[at(rank)].store(true); }
  bool survives(int rank) const { return survives_[at(rank)].load(); }

  // --- why a rank fails

  // An error of one of its tasks: the first is kept as its cause. False where it has left already, and what that does
  // to its own tasks is no cause.
  bool blame(int rank, const std::exception_ptr& error);
  std::exception_ptr cause(int rank) const;
  // What a rank says that unwinds an error it does not know here: where one is lost that it needs, that will be why.
  std::optional<Departure> consequence(int rank) const;

  void interrupt() { interrupted_.store(true); }
  bool interrupted() const { return interrupted_.load(); }

  // --- waits

  // Whether it has ended whatever its peer still sends.
  bool over(const MessageWait& wait) const {
    if (interrupted_.load()) return true;
    if (!anybody_failed()) return false;
    return failed(wait.rank) || (wait.peer != kAnyRank && wait.tag.is_collective() && survives(wait.rank));
  }
  // Who has left of those who could end it: in vain, unless something of theirs is still under way. kAnyRank: nobody.
  int missing(const MessageWait& wait) const {
    if (wait.peer != kAnyRank) return here(wait.peer) ? kAnyRank : wait.peer;
    const int gone = failed_.load();
    return gone == kAnyRank || survives(wait.rank) ? kAnyRank : gone;
  }
  // Of a transport that has nothing under way once it knows that the sender has left.
  bool hopeless(const MessageWait& wait) const { return over(wait) || missing(wait) != kAnyRank; }
  // Whether a rank that lent a peer memory need not wait for it any more. The loss of another changes nothing here.
  bool parted(int rank, int peer) const { return interrupted() || failed(rank) || !here(peer); }
  // Whose departure a wait that has ended is put down to; kAnyRank: nobody has left.
  int whom(const MessageWait& wait) const;
  // What it becomes: Interrupted, or PeerLost with the reason of whom() and, behind what was waited for, `more`.
  [[noreturn]] void give_up(const MessageWait& wait, const std::string& more = "") const;

 private:
  enum class Presence : std::uint8_t { kHere, kDone, kFailed };
  struct Wish {
    int to;
    Tag tag;
  };
  struct Cause {
    int rank;
    std::exception_ptr error;
  };
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  const Tell tell_;
  std::vector<std::atomic<Presence>> presence_;
  std::vector<std::atomic<bool>> survives_;
  std::atomic<int> failed_{kAnyRank};  // the last that failed
  std::atomic<bool> interrupted_{false};
  mutable Mutex mutex_;
  std::vector<Departure> departures_ TACIT_GUARDED_BY(mutex_);
  std::vector<Cause> causes_ TACIT_GUARDED_BY(mutex_);
  std::vector<int> gone_ TACIT_GUARDED_BY(mutex_);  // in the order in which they left
  std::vector<Wish> wishes_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
