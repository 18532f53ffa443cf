// SPDX-License-Identifier: MIT
// std::mutex with the annotations that let clang prove which member a lock protects
// (-Wthread-safety, preset `tidy`). Other compilers see plain locks.
#pragma once

#include <mutex>

#ifdef __clang__
#define TACIT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TACIT_THREAD_ANNOTATION(x)
#endif
#define TACIT_GUARDED_BY(x) TACIT_THREAD_ANNOTATION(guarded_by(x))
#define TACIT_REQUIRES(x) TACIT_THREAD_ANNOTATION(requires_capability(x))

namespace tacit {

class TACIT_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() TACIT_THREAD_ANNOTATION(acquire_capability()) { inner_.lock(); }
  bool try_lock() TACIT_THREAD_ANNOTATION(try_acquire_capability(true)) { return inner_.try_lock(); }
  void unlock() TACIT_THREAD_ANNOTATION(release_capability()) { inner_.unlock(); }

 private:
  std::mutex inner_;
};

template <class AnyMutex>
class TACIT_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(AnyMutex& mutex) TACIT_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // One that try_lock() has locked.
  MutexLock(AnyMutex& mutex, std::adopt_lock_t) TACIT_THREAD_ANNOTATION(requires_capability(mutex))
      : mutex_(mutex) {}
  ~MutexLock() TACIT_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  AnyMutex& mutex_;
};

}  // namespace tacit
