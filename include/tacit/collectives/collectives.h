// SPDX-License-Identifier: MIT
// Exchanges that ranks enter together.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "tacit/core/views.h"
#include "tacit/transport/endpoint.h"
#include "tacit/transport/ledger.h"

namespace tacit {

// Takes what a rank sent; the bytes are readable until it returns.
using Take = std::function<void(int from, ConstBytes message)>;
// The next part of a vector that is there bit by bit; nothing where that was all or, without `wait`, where none is ready.
using NextPart = std::function<std::optional<FloatView>(bool wait)>;

// One neighbour of a swap: `out` goes to it, and what it sends fills `in`, which must have that length. Where a view is
// empty nothing goes that way, so that graphs may be directed. A peer may occur several times; its messages keep their
// order.
struct Swap {
  int peer = 0;
  ConstFloatView out{};
  FloatView in{};
};

// Collectives are called by all ranks in the same order. All of them work for 1 rank and for empty views.
//
// Bits     a sum or mean ends with the same bits on every rank and in every world.
// Threads  one task at a time; survives, losses, living and entry any.
// Errors   PeerLost, Timeout, Mismatch, Interrupted.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const Ledger& ledger() const = 0;
  virtual Clock& clock() = 0;

  // Whether this world goes on without ranks it loses. Then collectives are among those that live, and calls, posts and
  // exchanges with a lost rank throw PeerLost, after which it is no longer among the living.
  virtual bool survives() const { return false; }
  virtual std::vector<Loss> losses() const { return {}; }
  // Whether a rank was ever lost, be it back or not.
  virtual bool disturbed() const { return !losses().empty(); }
  // When a rank came: 0 for those of the start, and a growing number for those that came back after a loss, so that those
  // who came back never take a duty away from one who stayed.
  virtual std::uint32_t entry(int /*rank*/) const { return 0; }
  // In their order, this rank among them. Throws PeerLost where it is itself lost to the others.
  virtual std::vector<int> living() const {
    std::vector<int> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  // Of those that live, the one that has been here longest; the lowest among equals.
  int head() const;

  virtual void sum(FloatView x) = 0;
  virtual void mean(FloatView x) = 0;
  // mean() of each part, in their order, as they become ready: the same parts on every rank. Several may be on their way
  // at once.
  virtual void mean_each(const NextPart& next) {
    while (const auto part = next(true)) mean(*part);
  }
  // Among some ranks alone: those of `group`, in ascending order, call it with the same number, and groups that have no
  // rank in common know nothing of each other. A pair of ranks uses a number once, and numbers in the same order.
  virtual void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) = 0;
  // The part of a vector of that length which reduce_scatter finishes on a rank.
  virtual Slice own_slice(std::size_t count, int rank) const = 0;
  // Afterwards x[own_slice] is the sum over ranks; the rest of x is unspecified.
  virtual void reduce_scatter(FloatView x) = 0;
  // Every rank's x[own_slice] reaches all.
  virtual void all_gather(FloatView x) = 0;
  // out[r] goes to rank r. Messages may have any length; take gets them in the order of the ranks, out[rank()] in its
  // turn.
  virtual void all_to_all(std::span<const ConstBytes> out, const Take& take) = 0;
  // The same, but only the ranks in `speakers` send (equal on every rank); nobody waits for the others. Past the
  // deadline it ends with what has come: the messages that take has not got by then are dropped when they come.
  virtual void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                           const Take& take, Deadline deadline = kNever) = 0;
  virtual void broadcast(Bytes x, int root) = 0;
  virtual void barrier() = 0;

  // With several neighbours at once, in any graph: everything is on its way before anything is waited for, so that no
  // order of ranks dead-locks. Both ends of an edge name it, in the same order where there are several; ranks without a
  // common edge know nothing of each other.
  //
  // Says of each neighbour whether its `in` is filled. That is so without a deadline. Past one, what has not come stays
  // unfilled and is dropped when it comes, never taken for that of another swap; what this rank sent still arrives.
  // Either both ends of an edge give a deadline or none does: who gives none waits until its message has been taken. In
  // a world that survives nothing comes from a lost rank, and the others' messages do.
  //
  // Cost    with a deadline, and in worlds that survive, one copy of what goes out and of what comes in.
  virtual std::vector<bool> swap(std::span<const Swap> with, Deadline deadline = kNever) = 0;
  // With one peer, and with bytes: sends out, receives in, which must have the length the peer sends. Both messages go,
  // empty ones too.
  virtual void exchange(int peer, ConstBytes out, Bytes in) = 0;
};

}  // namespace tacit
