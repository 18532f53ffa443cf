// SPDX-License-Identifier: MIT
// A pipe of bytes in memory that two processes share: one writes, the other reads, and neither enters the kernel while
// both are awake.
//
// Trust   the other side may write anything into the shared memory at any time. Each side therefore keeps its own
//         counter to itself and only tells it; what the other one tells is checked on every look, and bytes are copied
//         out before anybody believes them.
// Sleep   a side that finds nothing to do asks to be told, looks once more, and sleeps; whoever changes something
//         afterwards finds the question and answers it, by ringing a bell that is not part of the ring. All of it is
//         sequentially consistent, so that one of the two sees the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tacit/core/views.h"

namespace tacit {

// How both sides see a ring. Counters only grow: what lies between them, counted from the start and modulo the room, is
// full. A writer that finds the ring empty begins at the front of the room again, where the caches still have it: through
// a megabyte in turns, every byte would come from further away. The reader has taken all that it knows of by then, and
// looks at the start again before it takes more.
struct RingControl {
  static constexpr std::size_t kCacheLine = 64;
  alignas(kCacheLine) std::atomic<std::uint64_t> written{0};  // bytes, ever: the writer's
  std::atomic<std::uint64_t> start{0};                        // how many there were when the room began anew
  alignas(kCacheLine) std::atomic<std::uint64_t> taken{0};    // bytes, ever: the reader's
  alignas(kCacheLine) std::atomic<std::uint32_t> reader_asks{1};  // to be told of the next bytes
  alignas(kCacheLine) std::atomic<std::uint32_t> writer_asks{0};  // to be told of the next room
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// Its bytes, and what keeps them mapped. The room is a power of two.
struct RingPlace {
  RingControl* control = nullptr;
  Bytes room;
  std::shared_ptr<const void> keep;
};

// What one side copies before it tells the other, so that both copy at the same time.
constexpr std::size_t kRingPiece = std::size_t{64} * 1024;

// Threads  one at a time.
class RingWriter {
 public:
  explicit RingWriter(RingPlace place) : place_(std::move(place)) {}

  // Takes what there is room for off the front of `parts`, and says how much. Where that is not all, the reader will
  // ring once there is room.
  std::size_t write(std::span<const ConstBytes> parts) {
    std::size_t total = 0;
    begin_anew();
    for (const ConstBytes part : parts) {
      for (std::size_t at = 0; at < part.size();) {
        const std::size_t count = std::min({part.size() - at, free_room(part.size() - at), kRingPiece});
        if (count == 0) {
          tell();
          return total;
        }
        put(part.subspan(at, count));
        at += count;
        total += count;
        if (written_ - told_ >= kRingPiece) tell();
      }
    }
    tell();
    return total;
  }
  // Whether the reader asked to be told of what was written since it last asked. Once yes, it is no until it asks again.
  bool asked() {
    return place_.control->reader_asks.load() != 0 && place_.control->reader_asks.exchange(0) != 0;
  }
  bool all_taken() const { return place_.control->taken.load() == written_; }
  std::uint64_t written() const { return written_; }
  bool broken() const { return broken_; }  // the reader tells what cannot be

 private:
  void begin_anew() {
    look();
    if (!broken_ && taken_ == written_ && start_ != written_) place_.control->start.store(start_ = written_);
  }
  void tell() {
    if (told_ != written_) place_.control->written.store(told_ = written_);
  }
  // Looks at what the reader tells only where what is known does not do: that costs a cache line each time.
  std::size_t free_room(std::size_t wanted) {
    if (known_room() < std::min(wanted, place_.room.size() / 4)) look();
    if (known_room() == 0 && !broken_) {
      tell();  // or the reader would have nothing to make room with
      place_.control->writer_asks.store(1);
      look();
      if (known_room() > 0) place_.control->writer_asks.store(0);
    }
    return broken_ ? 0 : known_room();
  }
  std::size_t known_room() const { return place_.room.size() - static_cast<std::size_t>(written_ - taken_); }
  void look() {
    const std::uint64_t taken = place_.control->taken.load();
    broken_ = broken_ || taken > written_ || taken < taken_;
    if (!broken_) taken_ = taken;
  }
  void put(ConstBytes bytes) {
    const auto at = static_cast<std::size_t>((written_ - start_) & (place_.room.size() - 1));
    const std::size_t first = std::min(bytes.size(), place_.room.size() - at);
    copy<std::byte>(bytes.first(first), place_.room.subspan(at, first));
    copy<std::byte>(bytes.subspan(first), place_.room.first(bytes.size() - first));
    written_ += bytes.size();
  }

  RingPlace place_;
  std::uint64_t written_ = 0;
  std::uint64_t told_ = 0;  // of it, to the reader
  std::uint64_t start_ = 0;
  std::uint64_t taken_ = 0;  // as the reader last told
  bool broken_ = false;
};

// Threads  one at a time.
class RingReader {
 public:
  explicit RingReader(RingPlace place) : place_(std::move(place)) {}

  // What is there, into `first` and, where that is full, into `second`.
  std::size_t read(Bytes first, Bytes second) {
    const std::size_t direct = take(first);
    return direct < first.size() ? direct : direct + take(second);
  }
  bool empty() { return waiting() == 0; }
  // Whether the writer waits for room that there is now. Once yes, it is no until it waits again.
  bool asked() {
    return place_.control->writer_asks.load() != 0 && place_.control->writer_asks.exchange(0) != 0;
  }
  // From now on the next bytes are told of. What is there already is not: look once more.
  void ask() { place_.control->reader_asks.store(1); }
  std::uint64_t taken() const { return taken_; }
  bool broken() const { return broken_; }  // the writer tells what cannot be

 private:
  std::size_t take(Bytes into) {
    std::size_t total = 0;
    while (total < into.size()) {
      const std::size_t count = std::min({waiting(), into.size() - total, kRingPiece});
      if (count == 0) break;
      const auto at = static_cast<std::size_t>((taken_ - start_) & (place_.room.size() - 1));
      const std::size_t first = std::min(count, place_.room.size() - at);
      copy<std::byte>(place_.room.subspan(at, first), into.subspan(total, first));
      copy<std::byte>(place_.room.first(count - first), into.subspan(total + first, count - first));
      total += count;
      place_.control->taken.store(taken_ += count);
    }
    return total;
  }
  // Looks at what the writer tells only where all that is known was taken.
  std::size_t waiting() {
    if (written_ == taken_ && !broken_) {
      const std::uint64_t written = place_.control->written.load();
      broken_ = written - taken_ > place_.room.size();
      if (!broken_) written_ = written;
      start_ = place_.control->start.load();
    }
    return broken_ ? 0 : static_cast<std::size_t>(written_ - taken_);
  }

  RingPlace place_;
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;  // as the writer last told
  std::uint64_t start_ = 0;    // likewise
  bool broken_ = false;
};

}  // namespace tacit
