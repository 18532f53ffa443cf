// SPDX-License-Identifier: MIT
#include "transport/tcp/stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/tcp/socket_wire.h"

namespace tacit {
namespace {

using Result = Stream::Result;

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;
constexpr int kMostBells = 64;  // reads of the wire at a time, whatever the other side sends there

}  // namespace

Stream::Stream(std::unique_ptr<Wire> wire, const TlsContext* tls, Role role) : wire_(std::move(wire)) {
  if (tls != nullptr) tls_ = std::make_unique<TlsSession>(*tls, *wire_, role == Role::kServer);
}

Stream::Stream(Socket socket, const TlsContext* tls, Role role)
    : Stream(std::make_unique<SocketWire>(std::move(socket)), tls, role) {}

Result Stream::handshake() {
  if (!tls_) return Result::kDone;
  const MutexLock lock(mutex_);
  return tls_->handshake();
}

Result Stream::read(Bytes first, Bytes second, std::size_t& count) {
  return ring_in_ ? read_ring(first, second, count) : read_wire(first, second, count);
}

Result Stream::read_wire(Bytes first, Bytes second, std::size_t& count) {
  if (tls_) {
    const MutexLock lock(mutex_);
    return tls_->read(first.empty() ? second : first, count);
  }
  const Result result = wire_->read(first, second, count);
  if (result == Result::kDone) plain_in_ += count;
  return result;
}

bool Stream::holds_input() {
  if (ring_in_) return !ring_in_->empty();
  if (!tls_) return false;
  const MutexLock lock(mutex_);
  return tls_->holds_input();
}

Result Stream::write(std::span<const ConstBytes> parts, std::size_t& count) {
  if (ring_out_) return write_ring(parts, count);
  if (!tls_) {
    const Result result = wire_->write(parts, count);
    plain_out_ += count;
    return result;
  }
  const MutexLock lock(mutex_);
  const Result result = write_tls(parts, count);
  if (result == Result::kFailed || result == Result::kClosed) return result;
  const Result flushed = tls_->flush();
  return flushed == Result::kDone ? result : flushed;
}

// Small parts travel in one record: a header alone would cost a record of its own.
Result Stream::write_tls(std::span<const ConstBytes> parts, std::size_t& count) {
  count = 0;
  std::size_t at = 0;      // the part we are in
  std::size_t offset = 0;  // and how far
  while (at < parts.size()) {
    record_.clear();
    ConstBytes piece = parts[at].subspan(offset);
    if (piece.size() < kRecordBytes) {
      for (std::size_t i = at, from = offset; i < parts.size() && record_.size() < kRecordBytes;
           ++i, from = 0) {
        const ConstBytes more = parts[i].subspan(from);
        const std::size_t take = std::min(more.size(), kRecordBytes - record_.size());
        record_.insert(record_.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(take));
      }
      piece = record_;
    }
    std::size_t taken = 0;
    const Result result = tls_->write(piece, taken);
    count += taken;
    for (std::size_t left = taken; at < parts.size();) {
      const std::size_t rest = parts[at].size() - offset;
      if (left < rest) {
        offset += left;
        break;
      }
      left -= rest;
      offset = 0;
      ++at;
    }
    if (result != Result::kDone) return result;
  }
  return Result::kDone;
}

// --- through rings

// Rings once: until now the reader could not, whoever waits for room. A wire that is gone ends the reading.
void Stream::write_through(RingWriter ring) {
  ring_out_.emplace(std::move(ring));
  bells_only_.store(true);
  const MutexLock lock(mutex_);
  ring_bell();
}

// The first bell may have come in with what was read last, and is forgotten with it: another one shall ring.
void Stream::read_through(RingReader ring) {
  ring_in_.emplace(std::move(ring));
  ring_in_->ask();
}

Result Stream::read_ring(Bytes first, Bytes second, std::size_t& count) {
  count = ring_in_->read(first, second);
  if (ring_in_->broken()) return Result::kFailed;
  if (count == 0) return wire_end_;  // what was written before the end was there before it
  // Before our own side has left the wire frames are on it; a bell follows the last of them.
  if (ring_in_->asked() && bells_only_.load()) {
    const MutexLock lock(mutex_);
    const std::uint64_t before = wire_bytes_out();
    ring_bell();  // a wire that is gone ends the reading, too
    bell_bytes_ += wire_bytes_out() - before;
    reader_bell_bytes_ += wire_bytes_out() - before;
  }
  return Result::kDone;
}

// What was left on the wire goes first: the frame that told of the ring may be in it.
Result Stream::write_ring(std::span<const ConstBytes> parts, std::size_t& count) {
  count = 0;
  if (wants_wire()) {
    const MutexLock lock(mutex_);
    const Result flushed = tls_->flush();
    if (flushed != Result::kDone) return flushed;
  }
  std::size_t total = 0;
  for (const ConstBytes part : parts) total += part.size();
  count = ring_out_->write(parts);
  if (ring_out_->broken()) return Result::kFailed;
  if (count > 0 && ring_out_->asked()) {
    const MutexLock lock(mutex_);
    const Result rung = ring_bell();
    if (rung == Result::kFailed || rung == Result::kClosed) return rung;
  }
  return count == total && !wants_wire() ? Result::kDone : Result::kAgain;
}

// Where the wire takes no more, the other side has not heard what lies there: one more bell would tell it nothing.
Result Stream::ring_bell() {
  static constexpr std::array<std::byte, 1> kBell{};
  const std::array<ConstBytes, 1> parts{ConstBytes(kBell)};
  std::size_t count = 0;
  const Result result = tls_ ? tls_->write(kBell, count) : wire_->write(parts, count);
  bells_ += count;
  return tls_ && result == Result::kDone ? tls_->flush() : result;
}

void Stream::hear_bells() {
  if (!ring_in_) return;
  std::array<std::byte, 256> bells{};
  for (int i = 0; i < kMostBells && wire_end_ == Result::kAgain; ++i) {
    std::size_t count = 0;
    const Result result = read_wire(bells, {}, count);
    if (result != Result::kDone) {
      wire_end_ = result;
      break;
    }
    heard_ += count;
    const MutexLock lock(mutex_);
    if (!tls_ || !tls_->holds_input()) break;
  }
  ring_in_->ask();
}

bool Stream::wants_wire() const {
  if (!bells_only_.load()) return true;
  if (!tls_) return false;
  const MutexLock lock(mutex_);
  return tls_->unsent();
}

// --- what is known of it

bool Stream::same_machine() const {
  try {
    return local().address() == remote().address();
  } catch (const boost::system::system_error&) {
    return false;  // it is gone
  }
}

std::string Stream::read_why() const {
  if (ring_in_ && ring_in_->broken()) return "its ring holds more than it has room for";
  if (!tls_) return wire_->read_why();
  const MutexLock lock(mutex_);
  return tls_->why();
}

std::string Stream::write_why() const {
  if (ring_out_ && ring_out_->broken()) return "it took more from its ring than was there";
  if (!tls_) return wire_->write_why();
  const MutexLock lock(mutex_);
  return tls_->why();
}

std::uint64_t Stream::bytes_in() const {
  const std::uint64_t by_ring = ring_in_ ? ring_in_->taken() : 0;
  if (!tls_) return plain_in_ + by_ring;
  const MutexLock lock(mutex_);
  return tls_->bytes_in() + by_ring;
}

std::uint64_t Stream::wire_bytes_out() const { return tls_ ? tls_->bytes_out() : plain_out_ + bells_; }

std::uint64_t Stream::bytes_out() const {
  const std::uint64_t by_ring = ring_out_ ? ring_out_->written() : 0;
  const MutexLock lock(mutex_);
  return wire_bytes_out() + by_ring;
}

std::uint64_t Stream::overhead_in() const {
  if (!tls_) return heard_;
  const MutexLock lock(mutex_);
  return tls_->overhead_in() + heard_;
}

std::uint64_t Stream::overhead_out() const {
  const MutexLock lock(mutex_);
  return (tls_ ? tls_->overhead_out() : 0) + bells_ - reader_bell_bytes_;
}

std::uint64_t Stream::key_updates() const {
  if (!tls_) return 0;
  const MutexLock lock(mutex_);
  return tls_->key_updates();
}

}  // namespace tacit
