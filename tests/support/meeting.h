// SPDX-License-Identifier: MIT
// What tests of a meeting over real sockets need.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/on_every_rank.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"

namespace tacit::test {

// A socket that listens on loopback before rank 0 is there, as tacit launch makes one.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket_, SOMAXCONN) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no listening socket");
    port_ = ntohs(address.sin_port);
  }
  ~Listener() {
    if (!given_.load()) ::close(socket_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int give() {
    given_.store(true);
    return socket_;
  }
  int port() const { return port_; }
  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  int port_ = 0;
  std::atomic<bool> given_{false};
};

// Somebody with a bare socket.
class Stranger {
 public:
  // With port 0 not connected yet.
  explicit Stranger(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (port != 0) connect(port);
  }
  void connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  bool connected() const { return connected_; }
  void say(ConstBytes bytes) { (void)!::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void say(const std::string& text) { say(std::as_bytes(std::span(text))); }
  // All it hears until the other side hangs up.
  std::string hear() {
    std::string all;
    std::array<char, 4096> some{};
    for (;;) {
      const ssize_t count = ::recv(socket_, some.data(), some.size(), 0);
      if (count <= 0) return all;
      all.append(some.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  int socket_;
  bool connected_ = false;
};

inline Payload frame(FrameType type, const Payload& payload) {
  const FrameHeaderBytes head = encode(FrameHeader{type, 0, payload.size()});
  Payload whole(head.size() + payload.size());
  copy<std::byte>(head, Bytes(whole).first(head.size()));
  copy<std::byte>(payload, Bytes(whole).subspan(head.size()));
  return whole;
}

// Collects what ranks report.
class Reports {
 public:
  WaitLimits limits() {
    return {Seconds(60), Seconds(20), [this](const std::string& line) {
              const std::lock_guard lock(mutex_);
              lines_ += line + "\n";
            }};
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // Waits until somebody reports these words; a test whose words never come fails and says what came instead.
  void wait_for(const std::string& words) {
    EXPECT_TRUE(eventually([&] { return text().find(words) != std::string::npos; }))
        << "nobody said '" << words << "', only:\n"
        << text();
  }

 private:
  std::mutex mutex_;
  std::string lines_;
};

// Ranks of one job, each in a thread.
class Meeting : public ::testing::Test {
 protected:
  TcpOptions rank(int me, int size) {
    TcpOptions o;
    o.rank = me;
    o.size = size;
    o.rendezvous = listener_.url();
    if (me == 0) o.listener = listener_.give();
    o.key = key_;
    o.start_limit = Seconds(30);
    o.limits = reports_.limits();
    return o;
  }
  // Every rank in a thread; what each threw, or nothing.
  std::vector<std::string> meet(std::vector<TcpOptions> all) {
    std::vector<std::unique_ptr<Fabric>> fabrics(all.size());
    std::vector<std::string> errors(all.size());
    run_ranks(static_cast<int>(all.size()), [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      try {
        fabrics[at] = open_tcp(all[at]);
      } catch (const std::exception& error) {
        errors[at] = error.what();
      }
    });
    run_ranks(static_cast<int>(all.size()), [&](int i) {
      if (const auto& fabric = fabrics[static_cast<std::size_t>(i)]) fabric->leave({});
    });
    return errors;
  }

  Listener listener_;
  std::optional<JobKey> key_ = JobKey::random();
  Reports reports_;
};

}  // namespace tacit::test
