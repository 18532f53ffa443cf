// SPDX-License-Identifier: MIT
// Memory for messages that have no place to go yet. Fresh memory of a megabyte costs the kernel as much time as copying
// the megabyte (page by page), so what was used is kept.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "tacit/core/views.h"
#include "transport/spin_mutex.h"

namespace tacit {

// Threads  any.
class BufferPool {
 public:
  // A message's memory, aligned for any scalar, not cleared.
  class Buffer {
   public:
    Buffer() = default;
    Buffer(BufferPool* pool, std::unique_ptr<std::byte[]> memory, std::size_t capacity)
        : pool_(pool), memory_(std::move(memory)), capacity_(capacity) {}
    Buffer(Buffer&& other) noexcept = default;
    Buffer& operator=(Buffer&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
      std::swap(capacity_, other.capacity_);
      return *this;
    }
    ~Buffer() {
      if (memory_) pool_->put(std::move(memory_), capacity_);
    }
    Bytes first(std::size_t count) const { return {memory_.get(), count}; }

   private:
    BufferPool* pool_ = nullptr;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
  };

  // Pages are the kernel's until they are written: a length that was announced and never comes costs nothing.
  Buffer take(std::size_t count) {
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(count, kSmallest));
    if (capacity <= kLargest) {
      const MutexLock lock(mutex_);
      auto& shelf = shelf_for(capacity);
      if (!shelf.empty()) {
        std::unique_ptr<std::byte[]> memory = std::move(shelf.back());
        shelf.pop_back();
        kept_ -= capacity;
        return {this, std::move(memory), capacity};
      }
    }
    return {this, std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
  }

 private:
  static constexpr std::size_t kSmallest = 256;
  static constexpr std::size_t kLargest = std::size_t{64} << 20U;
  static constexpr std::size_t kMostKept = std::size_t{256} << 20U;

  std::vector<std::unique_ptr<std::byte[]>>& shelf_for(std::size_t capacity) TACIT_REQUIRES(mutex_) {
    return shelves_[static_cast<std::size_t>(std::countr_zero(capacity))];
  }
  // A destructor's: where the shelf cannot grow, the memory is not kept.
  void put(std::unique_ptr<std::byte[]> memory, std::size_t capacity) noexcept {
    const MutexLock lock(mutex_);
    if (capacity > kLargest || kept_ + capacity > kMostKept) return;
    try {
      shelf_for(capacity).push_back(std::move(memory));
      kept_ += capacity;
    } catch (const std::bad_alloc&) {
    }
  }

  SpinMutex mutex_;
  std::size_t kept_ TACIT_GUARDED_BY(mutex_) = 0;
  std::array<std::vector<std::unique_ptr<std::byte[]>>, 32> shelves_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
