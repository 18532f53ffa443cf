// SPDX-License-Identifier: MIT
// Finds circles of waits among ranks that are processes, by questions that travel along the waits: from whoever waits to
// whom it waits for. A question says how many messages of the lane the waiter has received from the rank that it asks. The
// rank that is asked passes it on, with its own wait behind it, if it is stuck itself and has sent no more than that. So
// nothing that could end the waiter's wait was under way, and nothing will be until the rank that was asked goes on; and
// that holds for each wait behind it. A question that comes back to the wait it began with has found a circle. No clock
// and no socket: the housekeeper carries the questions.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "transport/stuck.h"
#include "transport/tcp/messages.h"

namespace tacit {

// Threads  any.
class CircleWatch {
 public:
  CircleWatch(int rank, int size, Seconds patience);

  StuckBook& book() { return book_; }
  // Before a message goes out, and after the receive that wanted it has it.
  void count_sent(int peer, Tag tag);
  void count_received(int peer, Tag tag);

  struct Errand {
    int peer = 0;
    CircleQuestion question{};
  };
  // What this rank asks now.
  std::vector<Errand> ask(Seconds now);

  struct Answer {
    std::optional<Errand> pass_on{};
    std::string circle{};  // not empty: this rank is in one, described
  };
  // Ranks in the question are those of this world, and the last is the one that asks.
  Answer hear(const CircleQuestion& question, Seconds now);

  // The rank is in a circle, from now on. The first counts.
  void close(const std::string& circle);
  bool closed() const { return closed_.load(); }
  std::string what();  // described, once closed

 private:
  std::size_t place(int peer, Tag::Lane lane) const {
    return static_cast<std::size_t>(peer) * Tag::kLanes + static_cast<std::size_t>(lane);
  }
  std::optional<Errand> continued(CircleQuestion question, const StuckWait& own, Tag::Lane asked,
                                  Seconds now);

  const int rank_;
  StuckBook book_;
  std::vector<std::atomic<std::uint64_t>> sent_;  // by place()
  std::vector<std::atomic<std::uint64_t>> received_;
  std::atomic<bool> closed_{false};
  Mutex mutex_;
  std::string circle_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
