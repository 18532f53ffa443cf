// SPDX-License-Identifier: MIT
// Which ranks go on together when some cannot hear each other. No clock, no thread and no socket: the transports between
// machines, real and simulated, tell it what they see and do what it orders.
//
// A process that died is no matter of opinion: its connection closed. A silent one may be stopped, or cut off, or it is
// we who are, so that silence needs a vote. Whoever has heard nothing of a peer for `lost_after` accuses it, to
// everybody. Once all have spoken who could, or after a settling time, each rank draws the same conclusion from the same
// accusations (judge): whoever takes part in most of them goes, and of two that only accuse each other the higher rank.
// Those that are left must be a majority of those that were here; at exactly half, the lowest rank decides. What one
// concluded, all adopt, and whoever is given up ends.
//
// Why two sides cannot both go on: a side that is no majority ends itself. Where two ranks cannot hear each other but
// share a third, that one hears both accusations; whatever it concludes it tells both. Whoever reads that it was given
// up ends, so ranks that disagree become fewer and do not go on apart.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tacit/core/clock.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// One rank's word against another.
struct Accusation {
  int accuser = 0;
  int accused = 0;
  Seconds silent{0};  // how long nothing had been heard; zero: its connection to the accuser closed
};

// How often a rank says that it lives. A few beats fit into the time after which it is missed.
constexpr Seconds heartbeat(Seconds lost_after) { return std::min(lost_after / 8, Seconds(1)); }

// What one rank knows.
//
// Threads  one at a time.
class Membership {
 public:
  Membership(int rank, int size, Seconds lost_after);

  // What a rank must do, in this order.
  struct Orders {
    std::vector<Accusation> tell;   // to all that are here, the accused one too
    std::vector<Accusation> relay;  // to the accused one, which may not hear its accuser
    std::vector<Loss> given_up;     // lost from now on; to be told to all that are here and to each of these
    std::string end;                // not empty: this rank is lost to the others, and why
  };

  // --- what the transport sees

  // The peer said goodbye, or cannot be spoken to any more for a reason that is not the network's.
  void leave(int peer);
  // Its connection closed without a goodbye. True: its process died, and it has left; all others are told, to whom it may
  // still talk: then it was the connection that died, and they judge as with silence. False: this rank was away so long
  // that the peer may have given it up and ended since; the peer counts as silent.
  bool close(int peer, Seconds now);
  // This rank could neither hear nor speak for so long until now: it was stopped, or its machine slept.
  void was_away(Seconds duration, Seconds now);
  // A peer that had left is here again, as another process.
  void come_back(int peer);
  // A peer accuses, or passes on what another says.
  void hear(const Accusation& accusation, Seconds now);
  // A peer has given somebody up, perhaps this rank.
  void adopt(int by, const Loss& loss);

  // To be asked after each of these and at every heartbeat. `last_heard` is by rank; nobody is accused before `lost_after`
  // has passed since this rank was away.
  Orders look(Seconds now, const std::vector<Seconds>& last_heard);

  bool here(int peer) const { return here_[static_cast<std::size_t>(peer)]; }

 private:
  struct Edge {
    Accusation what;
    Seconds since;  // when this rank learned of it
  };

  std::size_t pair(int accuser, int accused) const {
    return static_cast<std::size_t>(accuser) * here_.size() + static_cast<std::size_t>(accused);
  }
  bool accuses(int accuser, int accused) const {
    return !accuses_.empty() && accuses_[pair(accuser, accused)];
  }
  void add(const Accusation& what, Seconds now);
  std::vector<int> members() const;
  void accuse_the_silent(Seconds now, const std::vector<Seconds>& last_heard, Orders& orders);
  bool settled(Seconds now, const std::vector<Seconds>& last_heard) const;
  std::vector<bool> stand() const;
  void judge(Orders& orders);
  void give_up(const Loss& loss, Orders& orders);
  Loss reason(int peer) const;
  std::string own_fault() const;

  const int rank_;
  const Seconds lost_after_;
  const Seconds settle_;  // in which counter-accusations come: two ranks notice up to two heartbeats apart
  std::vector<bool> here_;
  std::vector<bool> closed_;          // closed, while this rank had been away
  std::vector<Edge> edges_;           // between ranks that are here
  std::vector<bool> accuses_;         // the same by pair(); empty while there has been none
  std::vector<Accusation> to_relay_;  // since the last look
  struct Adopted {
    int by;
    Loss loss;
  };
  std::vector<Adopted> adopted_;  // since the last look
  std::vector<int> died_;         // since the last look
  std::string end_;
  Seconds back_ = -kNever;    // when this rank last came back
  Seconds missed_ = -kNever;  // the same, after so long that the others may have given it up
  Seconds away_{0};           // how long that was
};

}  // namespace tacit
