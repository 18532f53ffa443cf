// SPDX-License-Identifier: MIT
// Two ends of a connection within this process: the rank's, as the product has it, and its peer's.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/views.h"
#include "transport/tcp/stream.h"

namespace tacit::fuzz {

using boost::asio::ip::tcp;

// While one lives, libFuzzer's alarm, by which it measures how long an input takes, interrupts no call to the kernel.
class AlarmLater {
 public:
  AlarmLater() {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before_);
  }
  ~AlarmLater() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AlarmLater(const AlarmLater&) = delete;
  AlarmLater& operator=(const AlarmLater&) = delete;

 private:
  sigset_t before_{};
};

// The peer's end.
class Peer {
 public:
  explicit Peer(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.set_option(tcp::no_delay(true));
    // Thousands of connections per second: none may linger in the kernel.
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
  }

  void send(ConstBytes bytes) {
    if (bytes.empty()) return;
    const AlarmLater alarm_later;
    const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    // A rank that has closed gets nothing; all else fits into the kernel's buffer.
    TACIT_CHECK(sent < 0 || static_cast<std::size_t>(sent) == bytes.size(), "the kernel took a part");
  }
  void hang_up() { ::shutdown(socket_.native_handle(), SHUT_WR); }

  // What has arrived from the rank.
  std::vector<std::byte> receive() {
    static std::array<std::byte, 65536> some;
    std::vector<std::byte> all;
    for (;;) {
      const ssize_t got = ::recv(socket_.native_handle(), some.data(), some.size(), MSG_DONTWAIT);
      if (got <= 0) return all;
      all.insert(all.end(), some.data(), some.data() + got);
    }
  }

 private:
  tcp::socket socket_;
};

// Makes connections.
class Loopback {
 public:
  struct Pair {
    std::shared_ptr<Stream> stream;
    Peer peer;
    int descriptor;  // the stream's
  };

  Pair connect() {
    const AlarmLater alarm_later;
    tcp::socket peer(io_, tcp::v4());
    peer.connect(acceptor_.local_endpoint());
    tcp::socket accepted = acceptor_.accept();
    const int descriptor = accepted.native_handle();
    auto stream = std::make_shared<Stream>(std::move(accepted), nullptr, Stream::Role::kServer);
    return {std::move(stream), Peer(std::move(peer)), descriptor};
  }

  // Waits until there is something to read, the end included.
  static void wait_readable(int descriptor) {
    pollfd entry{descriptor, POLLIN, 0};
    ::poll(&entry, 1, -1);
  }

  // Drops what a connection that is gone had asked the kernel for.
  void forget() {
    io_.restart();
    io_.poll();
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_{io_, {boost::asio::ip::make_address_v4("127.0.0.1"), 0}};
};

}  // namespace tacit::fuzz
