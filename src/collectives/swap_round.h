// SPDX-License-Identifier: MIT
// One exchange with several peers: all receives are posted, then everything is sent, then what comes is taken. So no
// order in which ranks come can dead-lock, whatever the graph.
#pragma once

#include <optional>
#include <vector>

#include "collectives/unattended.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// Whether an exchange ends only when all has come. Otherwise what goes out is copied and what comes in is borrowed, so
// that the caller's memory is its own again at the deadline: the rest is left to an Unattended, which outlives the
// round.
//
// Tags     no two rounds of a Comm use the same, so that what comes too late for one is not taken for another's.
// Threads  one at a time.
class SwapRound {
 public:
  enum class Manner { kPatient, kImpatient };
  SwapRound(Endpoint& endpoint, Unattended& left, Manner manner, Deadline deadline = kNever);
  ~SwapRound();
  SwapRound(const SwapRound&) = delete;
  SwapRound& operator=(const SwapRound&) = delete;

  // First all of these; each gives the number of the message, from 0.
  std::size_t expect(int peer, Tag tag);
  std::size_t expect(int peer, Tag tag, Bytes into);  // must be filled, or Mismatch
  // Then all of these.
  void send(int peer, Tag tag, ConstBytes data);
  // Then these, in any order: waits for a message and gives what came, readable until it is released. An impatient
  // round gives nothing where it has not come by the deadline, nor, in a world that survives, where its sender is lost.
  std::optional<ConstBytes> take(std::size_t number);
  void release(std::size_t number) { expected_[number].message.reset(); }
  // In the end: what was sent may be changed.
  void finish();

 private:
  struct Expected {
    int peer;
    Request message;
    std::optional<Bytes> into;
  };
  bool patient() const { return manner_ == Manner::kPatient; }

  Endpoint& endpoint_;
  Unattended& left_;
  const Manner manner_;
  const Deadline deadline_;
  std::shared_ptr<KeptBytes> copy_;  // of what was sent last
  ConstBytes copied_;
  std::vector<Request> sent_;
  std::vector<Expected> expected_;  // after sent_: loans are given back first
};

}  // namespace tacit
