// SPDX-License-Identifier: MIT
// One rank's end of a transport: reliable, tagged messages to and from every rank, itself included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacit/core/clock.h"
#include "tacit/core/views.h"
#include "tacit/transport/ledger.h"
#include "tacit/transport/tag.h"

namespace tacit {

// As a peer: any rank; the first message counts.
inline constexpr int kAnyRank = -1;

// How long a rank waits for a named peer. A wait for kAnyRank is an agent's idle state and has no limit.
struct WaitLimits {
  Seconds timeout{1800};                           // then Timeout is thrown
  Seconds stall{30};                               // then, and each time it doubles, the wait is reported
  std::function<void(const std::string&)> report;  // default: a line on stderr
};

// What came, or what was sent.
struct Arrival {
  int peer;
  Tag tag;
  ConstBytes data;  // received in place: the filled part of the caller's buffer; borrowed: the transport's
                    // or the sender's memory, readable until the Request is dropped
};

// A rank that has failed.
struct Loss {
  int rank = 0;
  std::string why;
};

// A message on its way.
//
// Lifetime  dropping one that has not ended cancels it; no buffer is touched afterwards. A send that is under way may
//           still arrive, whole, from a copy. Dropping a send that a peer has borrowed waits until the peer gives it
//           back; a rank that unwinds an error is lost to its peers first.
//           Whoever holds a loan and a send of its own drops the loan first, or two ranks wait for each other.
// Threads   one at a time.
// Errors    PeerLost, Timeout, Mismatch (a message longer than the buffer), Interrupted.
class Operation {
 public:
  virtual ~Operation() = default;
  // Waits within the endpoint's limits.
  virtual Arrival wait() = 0;
  // True once wait() would return or throw at once. Throws nothing itself.
  virtual bool ready_by(Deadline deadline) = 0;
  // Whether it would now. Looks, and does nothing else.
  virtual bool ready() = 0;
};
using Request = std::unique_ptr<Operation>;

// Ordering  messages with equal (peer, tag) are received in the order they were sent.
// Lifetime  a buffer given to isend or irecv stays valid, and one being sent unchanged, until its Request
//           has been waited for or dropped. An Endpoint outlives its Requests.
// Threads   any task of the rank.
// Bytes     a message arrives with the alignment its sender's buffer had, up to that of any scalar type; empty
//           messages are messages.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Clock& clock() = 0;
  virtual const Ledger& ledger() const = 0;

  // This rank cannot go on: whoever waits for it gets PeerLost with this reason. For tasks beside the trainer, whose
  // errors nobody would see in time; the world keeps the error as the cause. And, with null, for whoever must wait for
  // peers while it unwinds an error, because they may be waiting for this rank.
  virtual void fail(const std::exception_ptr& error) = 0;

  virtual Request isend(int peer, Tag tag, ConstBytes data) = 0;
  // Filled in place. peer may be kAnyRank.
  virtual Request irecv(int peer, Tag tag, Bytes into) = 0;
  // Lends the message where it lies, for a reader that adds or decodes it and needs no copy. Until the
  // Request is dropped the sender's buffer may be in use. peer may be kAnyRank.
  virtual Request iborrow(int peer, Tag tag) = 0;

  // Returns once one of these is ready(). They are of this endpoint; the limits are not theirs, as for kAnyRank.
  virtual void wait_any(std::span<Operation* const> any) = 0;

  // What this rank sends in exchanges of this lane (Tag::is_exchange) comes from one task at a time, which sends nothing
  // while it waits in one: so says a Comm of its user. Where ranks are threads, or processes over TCP, ranks whose waits
  // make a circle then end with Mismatch, which names it, instead of waiting for their time-out.
  virtual void one_at_a_time(Tag::Lane) {}

  // For worlds that go on without the ranks they lose. From now on, on this rank,
  //   a wait in a collective (Tag::is_collective) ends with PeerLost as soon as this rank knows of any failure, because
  //   the peers it waits for may know of it too and have left the collective;
  //   a wait for kAnyRank does not end by others' failures: they come as messages (tell_departures);
  //   every wait ends with PeerLost when this rank itself has failed.
  // Any other wait for a named peer ends as ever, when that peer is gone. Throws InvalidConfig where the transport ends
  // with its first rank.
  virtual void survive();
  virtual bool survives() const { return false; }
  // For every rank that leaves (or already has), done or failed, an empty message with this tag arrives from it.
  virtual void tell_departures(Tag) {}
  // As far as this rank knows, in the order of the ranks.
  virtual std::vector<Loss> losses() const { return {}; }
  // Why a rank was lost when it was last, be it back or not.
  virtual std::string why_lost(int) const { return {}; }
  // Whether a rank was ever lost, be it back or not: collectives that pass messages by number are at an end then.
  virtual bool disturbed() const { return !losses().empty(); }
  // When a rank came: 0 for those of the start; for one that was lost and has come back, which return of the job that was.
  virtual std::uint32_t entry(int) const { return 0; }
  // Neither failed nor done, as far as this rank knows.
  virtual bool here(int) const { return true; }
};

bool any_ready(std::span<Operation* const> any);

// The ranks that are here, in their order, this rank among them. Throws PeerLost where it is itself lost to the others.
std::vector<int> living(const Endpoint& endpoint);

// Those that have been here longest first, the lowest among equals. entry(rank) is as Endpoint::entry.
template <class Entry>
void sort_by_entry(std::vector<int>& ranks, const Entry& entry) {
  std::sort(ranks.begin(), ranks.end(),
            [&](int a, int b) { return std::pair(entry(a), a) < std::pair(entry(b), b); });
}

// "rank 0 waits for rank 2 in all-reduce 17, part 0": one wording for errors and stall reports.
std::string describe_wait(int rank, int peer, Tag tag);

// Throws Mismatch, which names both ranks, the exchange and both lengths.
[[noreturn]] void refuse_length(int rank, const Arrival& arrival, std::size_t expected);

}  // namespace tacit
