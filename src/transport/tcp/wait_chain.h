// SPDX-License-Identifier: MIT
// Who waits for whom, so that the one all wait for is named.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/clock.h"
#include "tacit/transport/endpoint.h"
#include "transport/tcp/messages.h"

namespace tacit {

// The chain that begins at the rank with the longest wait: "rank 3 waits for rank 1 (all-reduce 7, part 0, 31 s), which
// waits for rank 2 (...), which waits for nobody: look at rank 2". Empty where nobody waits. `waits` is by rank.
std::string describe_chain(const std::vector<WaitState>& waits);

// The waits of this rank, and those that the others' heartbeats told of. Threads: any.
class WaitBook {
 public:
  explicit WaitBook(int ranks) : told_(static_cast<std::size_t>(ranks)) {}

  // A wait of this rank, as long as it lives.
  class Entry {
   public:
    Entry(WaitBook& book, int peer, Tag tag, Seconds since);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class WaitBook;
    struct Wait {
      int peer;
      Tag tag;
      Seconds since;
    };
    WaitBook& book_;
    std::list<Wait>::iterator where_;
  };

  WaitState longest(Seconds now);  // of this rank, for a named peer
  void tell(int rank, const WaitState& wait);
  std::vector<WaitState> told();  // by rank

 private:
  Mutex mutex_;
  std::list<Entry::Wait> own_ TACIT_GUARDED_BY(mutex_);  // oldest first
  std::vector<WaitState> told_ TACIT_GUARDED_BY(mutex_);
};

// Reports the chain of waits each time the longest of them has doubled. Threads: one.
class ChainReport {
 public:
  explicit ChainReport(const WaitLimits& limits) : limits_(limits), mark_(limits.stall) {}
  // What a rank said before it fell silent is out of date. `waits` is by rank.
  void look(std::vector<WaitState> waits, const std::function<bool(int rank)>& silent);

 private:
  const WaitLimits& limits_;
  Seconds mark_;  // the longest wait that is reported next
};

}  // namespace tacit
