// SPDX-License-Identifier: MIT
#include "transport/tcp/stream.h"

#include <algorithm>
#include <utility>

#include "transport/tcp/socket_wire.h"

namespace tacit {
namespace {

using Result = Stream::Result;

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;

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
  if (tls_) {
    const MutexLock lock(mutex_);
    return tls_->read(first.empty() ? second : first, count);
  }
  const Result result = wire_->read(first, second, count);
  if (result == Result::kDone) plain_in_ += count;
  return result;
}

bool Stream::holds_input() const {
  if (!tls_) return false;
  const MutexLock lock(mutex_);
  return tls_->holds_input();
}

Result Stream::write(std::span<const ConstBytes> parts, std::size_t& count) {
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

bool Stream::same_machine() const {
  try {
    return local().address() == remote().address();
  } catch (const boost::system::system_error&) {
    return false;  // it is gone
  }
}

std::string Stream::read_why() const {
  if (!tls_) return wire_->read_why();
  const MutexLock lock(mutex_);
  return tls_->why();
}

std::string Stream::write_why() const {
  if (!tls_) return wire_->write_why();
  const MutexLock lock(mutex_);
  return tls_->why();
}

std::uint64_t Stream::bytes_in() const {
  if (!tls_) return plain_in_;
  const MutexLock lock(mutex_);
  return tls_->bytes_in();
}

std::uint64_t Stream::bytes_out() const {
  if (!tls_) return plain_out_;
  const MutexLock lock(mutex_);
  return tls_->bytes_out();
}

std::uint64_t Stream::overhead_in() const {
  if (!tls_) return 0;
  const MutexLock lock(mutex_);
  return tls_->overhead_in();
}

std::uint64_t Stream::overhead_out() const {
  if (!tls_) return 0;
  const MutexLock lock(mutex_);
  return tls_->overhead_out();
}

std::uint64_t Stream::key_updates() const {
  if (!tls_) return 0;
  const MutexLock lock(mutex_);
  return tls_->key_updates();
}

}  // namespace tacit
