// SPDX-License-Identifier: MIT
#include "transport/tcp/socket_wire.h"

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

using Result = Wire::Result;

constexpr std::size_t kMostParts = 32;

}  // namespace

SocketWire::SocketWire(Socket socket) : socket_(std::move(socket)) {
  socket_.non_blocking(true);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true));
}

// A network that carries nothing tells nothing of the process behind it: that is silence, which the ranks judge
// (transport/membership.h), and no end.
Result SocketWire::explain(std::string& why) {
  if (errno == EAGAIN || errno == EINTR) return Result::kAgain;
  if (errno == ETIMEDOUT || errno == EHOSTUNREACH || errno == ENETUNREACH || errno == ENETDOWN) {
    unreachable_.store(true);
    return Result::kAgain;
  }
  why = std::strerror(errno);
  return Result::kFailed;
}

Result SocketWire::read(Bytes first, Bytes second, std::size_t& count) {
  if (unreachable_.load()) return Result::kAgain;
  std::array<iovec, 2> parts{iovec{first.data(), first.size()}, iovec{second.data(), second.size()}};
  msghdr message{};
  message.msg_iov = first.empty() ? &parts[1] : parts.data();
  message.msg_iovlen = first.empty() ? 1 : 2;
  const ssize_t got = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  if (got < 0) return explain(read_why_);
  if (got == 0) return Result::kClosed;
  count = static_cast<std::size_t>(got);
  return Result::kDone;
}

Result SocketWire::write(std::span<const ConstBytes> parts, std::size_t& count) {
  count = 0;
  if (unreachable_.load()) return Result::kAgain;
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
  return count == total && used == parts.size() ? Result::kDone : Result::kAgain;
}

void SocketWire::wait(Ready what, WhenReady then) {
  if (unreachable_.load()) return;  // its error would wake us again and again
  socket_.async_wait(what == Ready::kRead ? Socket::wait_read : Socket::wait_write,
                     [then = std::move(then)](const boost::system::error_code& error) { then(!error); });
}

void SocketWire::cancel() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void SocketWire::shut_down() { ::shutdown(socket_.native_handle(), SHUT_RDWR); }
void SocketWire::finish_writing() { ::shutdown(socket_.native_handle(), SHUT_WR); }

void SocketWire::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

bool SocketWire::all_arrived() const {
  int unsent = 0;
  return ::ioctl(socket_.native_handle(), SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

}  // namespace tacit
