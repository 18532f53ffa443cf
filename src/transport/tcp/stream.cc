// SPDX-License-Identifier: MIT
#include "transport/tcp/stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tacit {
namespace {

using Result = TlsSession::Result;

Result explain(std::string& why) {
  if (errno == EAGAIN || errno == EINTR) return Result::kAgain;
  why = std::strerror(errno);
  return Result::kFailed;
}

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;
constexpr std::size_t kMostParts = 32;

}  // namespace

Stream::Stream(Socket socket, const TlsContext* tls, Role role) : socket_(std::move(socket)) {
  socket_.non_blocking(true);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  if (tls != nullptr)
    tls_ = std::make_unique<TlsSession>(*tls, socket_.native_handle(), role == Role::kServer);
}

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
  std::array<iovec, 2> parts{iovec{first.data(), first.size()}, iovec{second.data(), second.size()}};
  msghdr message{};
  message.msg_iov = first.empty() ? &parts[1] : parts.data();
  message.msg_iovlen = first.empty() ? 1 : 2;
  const ssize_t got = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  if (got < 0) return explain(read_why_);
  if (got == 0) return Result::kClosed;
  count = static_cast<std::size_t>(got);
  plain_in_ += count;
  return Result::kDone;
}

bool Stream::holds_input() const {
  if (!tls_) return false;
  const MutexLock lock(mutex_);
  return tls_->holds_input();
}

Result Stream::write(std::span<const ConstBytes> parts, std::size_t& count) {
  if (!tls_) return write_plain(parts, count);
  const MutexLock lock(mutex_);
  const Result result = write_tls(parts, count);
  if (result == Result::kFailed || result == Result::kClosed) return result;
  const Result flushed = tls_->flush();
  return flushed == Result::kDone ? result : flushed;
}

Result Stream::write_plain(std::span<const ConstBytes> parts, std::size_t& count) {
  count = 0;
  std::array<iovec, kMostParts> vectors{};
  const std::size_t used = std::min(parts.size(), vectors.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < used; ++i) {
    vectors[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    total += parts[i].size();
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = used;
  const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return explain(write_why_);
  count = static_cast<std::size_t>(sent);
  plain_out_ += count;
  return count == total && used == parts.size() ? Result::kDone : Result::kAgain;
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

void Stream::shut_down() { ::shutdown(socket_.native_handle(), SHUT_RDWR); }
void Stream::finish_writing() { ::shutdown(socket_.native_handle(), SHUT_WR); }

bool Stream::all_arrived() const {
  int unsent = 0;
  return ::ioctl(const_cast<Socket&>(socket_).native_handle(), SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

bool Stream::same_machine() {
  boost::system::error_code error;
  const auto here = socket_.local_endpoint(error);
  if (error) return false;
  const auto there = socket_.remote_endpoint(error);
  return !error && here.address() == there.address();
}

std::string Stream::read_why() const {
  if (!tls_) return read_why_;
  const MutexLock lock(mutex_);
  return tls_->why();
}

std::string Stream::write_why() const {
  if (!tls_) return write_why_;
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

}  // namespace tacit
