// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <atomic>

#include "core/mutex.h"

namespace tacit {

// Tells the core that this thread only waits for another.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A lock for sections of a microsecond at most that two ranks meet in all the time: std::mutex would put
// the second one to sleep, which costs ten times what it waits for (tacit bench allreduce, 4 KiB).
class TACIT_THREAD_ANNOTATION(capability("mutex")) SpinMutex {
 public:
  void lock() TACIT_THREAD_ANNOTATION(acquire_capability()) {
    for (int tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries) {
      if (tries < kSpins) {
        spin_pause();
      } else {
        sched_yield();  // the holder may have lost its core to us
      }
    }
  }
  void unlock() TACIT_THREAD_ANNOTATION(release_capability()) {
    taken_.store(false, std::memory_order_release);
  }

 private:
  static constexpr int kSpins = 200;
  std::atomic<bool> taken_{false};
};

}  // namespace tacit
