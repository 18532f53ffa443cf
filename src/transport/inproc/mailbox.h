// SPDX-License-Identifier: MIT
// Where messages and receives of one rank meet.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tacit/core/kernels.h"
#include "tacit/core/views.h"
#include "transport/gate.h"
#include "transport/matcher.h"
#include "transport/spin_mutex.h"

namespace tacit {

// Up to here a copy costs less than making the sender wait for the receiver (tacit bench allreduce).
constexpr std::size_t kEagerBytes = std::size_t{16} * 1024;

// From here on a message goes past the caches: the sender does not need it again, and what a core has written is slow
// to read from another one's cache (tacit bench allreduce, 16 MiB on 4 ranks).
constexpr std::size_t kStreamBytes = std::size_t{512} * 1024;

inline void move_bytes(ConstBytes from, Bytes to) {
  from.size() > kStreamBytes ? kernels::stream_copy(from, to) : copy(from, to);
}

// Spinning pays only while every rank has a core of its own.
inline Gate::Patience inproc_patience(int ranks) {
  const bool crowded = ranks > static_cast<int>(std::thread::hardware_concurrency());
  return crowded ? Gate::Patience{0, 200} : Gate::Patience{4000, 50};
}

// A message that found no posted receive. Owned by the sender's operation, the queue, and the borrower, of
// which any may be the last.
struct Parcel {
  Parcel(int sender, Tag what, ConstBytes bytes) : from(sender), tag(what), data(bytes) {}
  const int from;
  const Tag tag;
  ConstBytes data;
  std::vector<std::byte> copy;        // what data points to, for a small message
  std::atomic<bool> released{false};  // the receiver no longer reads data
  void keep_copy() {
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

class ReceiveOperation;

// What waits at one rank, and where its tasks wait.
struct Mailbox {
  SpinMutex mutex;
  Matcher<Parcel, ReceiveOperation> matcher TACIT_GUARDED_BY(mutex);
  Gate gate;
};

}  // namespace tacit
