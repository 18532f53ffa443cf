// SPDX-License-Identifier: MIT
// Which of a rank's waits nothing but a named peer's own exchange can end. Ranks in a circle of such waits can never go
// on, and are told so instead of waiting out their limits.
//
// What makes it certain: a Comm is used by one task at a time (Endpoint::one_at_a_time). While that task waits in an
// exchange of a lane, the rank sends nothing in that lane, whatever its agents and its other tasks do. So a rank that
// waits for a message of lane L from a peer that is itself stuck in lane L waits in vain until the peer goes on. The same
// holds for a peer that is stuck in another lane, if the waiting thread is the only one that ever used lane L there; as
// another thread could still be about to use it for the first time, such a wait counts only once it is long.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/clock.h"
#include "tacit/core/error.h"
#include "tacit/transport/tag.h"

namespace tacit {

// A rank's wait in an exchange.
struct StuckWait {
  int rank = 0;
  int peer = 0;
  Tag tag{Tag::Channel::kBarrier, Tag::Lane::kTrain, 0};
  std::uint64_t number = 0;  // no two waits of a rank have the same
};

// "rank 0 waits for rank 1 (all-reduce 5, part 0), rank 1 waits for rank 0 (barrier 5, part 0): they wait for each other
// and can never go on; ..."
std::string describe_circle(const std::vector<StuckWait>& circle);

// The waits of one rank. Threads: any.
class StuckBook {
 public:
  // Waits in other lanes than the one that is asked for count from this age on.
  StuckBook(int rank, Seconds patience) : rank_(rank), patience_(patience) {}
  Seconds patience() const { return patience_; }

  void declare(Tag::Lane lane) { lanes_[at(lane)].declared.store(true); }
  // In a world that goes on without lost ranks, the news of a loss ends waits: none is certain.
  void retire() { retired_.store(true); }
  // Whether the tag is one of an exchange in a declared lane.
  bool counts(Tag tag) const { return tag.is_exchange() && lanes_[at(tag.lane())].declared.load(); }
  // This thread sends or receives; what is no exchange changes nothing.
  void note_use(Tag tag);

  // A wait of this thread, as long as it lives. It ends by what the peer sends or takes, which sets `done`.
  class Entry {
   public:
    Entry(StuckBook& book, int peer, Tag tag, const std::atomic<bool>& done, Seconds since);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    const StuckWait& what() const { return where_->what; }

   private:
    friend class StuckBook;
    struct Wait {
      StuckWait what;
      const std::atomic<bool>* done;
      const void* thread;
      Seconds since;
      Seconds due;  // when it asks next whether it is in a circle
    };
    StuckBook& book_;
    std::list<Wait>::iterator where_;
  };

  // The wait that keeps this rank from sending in `lane`, if one does.
  std::optional<StuckWait> stuck(Tag::Lane lane, Seconds now);
  // Waits whose turn it is to ask, first when they are `first` old, then less and less often.
  std::vector<StuckWait> due(Seconds now, Seconds first);

 private:
  struct LaneUse {
    std::atomic<bool> declared{false};
    std::atomic<const void*> thread{nullptr};  // the first that used it
    std::atomic<bool> several{false};          // others have, too
  };
  static std::size_t at(Tag::Lane lane) { return static_cast<std::size_t>(lane); }
  static const void* this_thread();

  const int rank_;
  const Seconds patience_;
  std::array<LaneUse, Tag::kLanes> lanes_;
  std::atomic<bool> retired_{false};
  Mutex mutex_;
  std::uint64_t next_ TACIT_GUARDED_BY(mutex_) = 1;
  std::list<Entry::Wait> waits_ TACIT_GUARDED_BY(mutex_);
};

// The books of ranks that are all in one process. Threads: any.
class StuckBooks {
 public:
  StuckBooks(int ranks, Seconds patience);
  StuckBook& operator[](int rank) { return books_[static_cast<std::size_t>(rank)]; }
  void retire();

  // The circle that the wait is in; empty where it is in none. What a rank sends is there when its send returns, so that
  // two looks at the same waits suffice.
  std::vector<StuckWait> circle(const StuckWait& wait, Seconds now);

 private:
  std::deque<StuckBook> books_;
};

// A wait of one of these ranks, which looks from time to time whether it can end at all. Threads: the one that waits.
class GuardedWait {
 public:
  // Ends by what the peer sends or takes, which sets `done`. peer may be any rank.
  GuardedWait(StuckBooks& books, const StuckWait& wait, const std::atomic<bool>& done)
      : books_(books),
        wait_(wait),
        done_(done),
        look_(std::min(kLook, books[wait.rank].patience())),
        counts_(wait.peer >= 0 && wait.peer != wait.rank && books[wait.rank].counts(wait.tag)) {}

  // wait_until(deadline) waits for the end of the wait and says whether it came. Throws Mismatch where it cannot come.
  template <class WaitUntil>
  bool until(Deadline deadline, Clock& clock, const WaitUntil& wait_until) {
    if (!counts_) return wait_until(deadline);
    // Most waits are short, and others need not see them.
    if (!entry_ && wait_until(std::min(deadline, clock.now() + look_))) return true;
    if (!entry_) entry_.emplace(books_[wait_.rank], wait_.peer, wait_.tag, done_, clock.now() - look_);
    while (!wait_until(std::min(deadline, clock.now() + look_))) {
      const Seconds now = clock.now();
      if (const auto circle = books_.circle(entry_->what(), now); !circle.empty())
        throw Mismatch(describe_circle(circle));
      if (now >= deadline) return false;
    }
    return true;
  }

 private:
  static constexpr Seconds kLook{0.5};  // or the stall limit, where that is less
  StuckBooks& books_;
  const StuckWait wait_;
  const std::atomic<bool>& done_;
  const Seconds look_;
  const bool counts_;
  std::optional<StuckBook::Entry> entry_;
};

}  // namespace tacit
