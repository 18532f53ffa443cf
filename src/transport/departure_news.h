// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tacit/core/mutex.h"
#include "tacit/transport/tag.h"

namespace tacit {

// Who wants to be told of ranks that leave, for Endpoint::tell_departures. Everybody is told of each once.
//
// Threads  any.
class DepartureNews {
 public:
  struct Wish {
    int to;
    Tag tag;
  };
  // A rank has left; returns who must be told.
  std::vector<Wish> leave(int rank) {
    const MutexLock lock(mutex_);
    gone_.push_back(rank);
    return wishes_;
  }
  // Returns the ranks that have left already.
  std::vector<int> subscribe(const Wish& wish) {
    const MutexLock lock(mutex_);
    wishes_.push_back(wish);
    return gone_;
  }

 private:
  Mutex mutex_;
  std::vector<int> gone_ TACIT_GUARDED_BY(mutex_);
  std::vector<Wish> wishes_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
