// SPDX-License-Identifier: MIT
// A connection over TLS, with one thread and no clock: what one look at the socket leaves behind must still be
// delivered.
#include "transport/tcp/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "tacit/core/error.h"
#include "transport/inbox.h"
#include "transport/tcp/stream.h"
#include "transport/tcp/tls.h"

namespace tacit::test {
namespace {

using boost::asio::ip::tcp;
using Result = Stream::Result;

constexpr int kRank = 0;
constexpr int kPeer = 1;

Tag tag(std::uint32_t step) { return {Tag::Channel::kExchange, Tag::Lane::kTrain, step}; }

// Two ends of one TLS session, after the handshake.
class Session {
 public:
  Session() {
    tcp::acceptor acceptor(io_, {boost::asio::ip::make_address_v4("127.0.0.1"), 0});
    tcp::socket peer(io_);
    peer.connect(acceptor.local_endpoint());
    tcp::socket accepted = acceptor.accept();
    // As much as a test writes before the first look.
    const int room = 16 << 20;
    ::setsockopt(peer.native_handle(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    ::setsockopt(accepted.native_handle(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    here_ = std::make_shared<Stream>(std::move(accepted), &tls_, Stream::Role::kServer);
    there_ = std::make_shared<Stream>(std::move(peer), &tls_, Stream::Role::kClient);
    Result server = Result::kAgain;
    for (Result client = Result::kAgain; client != Result::kDone || server != Result::kDone;) {
      if (client == Result::kAgain) client = there_->handshake();
      if (server == Result::kAgain) server = here_->handshake();
      if (client == Result::kFailed || server == Result::kFailed) throw std::runtime_error("no handshake");
    }
  }
  boost::asio::io_context& io() { return io_; }
  const std::shared_ptr<Stream>& here() const { return here_; }
  Stream& there() { return *there_; }

 private:
  boost::asio::io_context io_;
  const TlsContext tls_{JobKey::random(), "test"};
  std::shared_ptr<Stream> here_;
  std::shared_ptr<Stream> there_;
};

// The owner of a connection, which only runs what is ready.
class OneThread final : public ConnectionOwner {
 public:
  explicit OneThread(Session& session)
      : session_(session),
        inbox_(kRank, ledger_, *this),
        connection_(std::make_unique<Connection>(*this, inbox_, ledger_, kPeer, session.here())) {
    connection_->start();
  }
  ~OneThread() override =
      default;  // what the connection had asked for is dropped with the io_context, which nobody runs
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

  Request receive(std::uint32_t step, Bytes into) { return inbox_.receive({kPeer, tag(step), into, false}); }
  void run_what_is_ready() {
    session_.io().restart();
    while (session_.io().poll() > 0) {
    }
  }

  // As a thread does that spins on the socket until its own message is there.
  void wait(int, Tag, const std::atomic<bool>& done) override {
    if (!done.load()) connection_->advance(&done);
    if (!done.load()) run_what_is_ready();
    if (!done.load()) throw std::runtime_error("the message was not delivered");
  }
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void wait_returned(int, const std::atomic<bool>&) override {}
  void between_reads(int, const std::function<void()>& fn) override { connection_->between_reads(fn); }
  void on_control(int, const FrameHeader&, ConstBytes) override {}
  void on_lost(int, const std::string& why) override { ADD_FAILURE() << why; }
  void on_progress() override {}

 private:
  Session& session_;
  Ledger ledger_{2, kRank};
  Inbox inbox_;
  std::unique_ptr<Connection> connection_;
};

using Frame = std::vector<std::byte>;

// Every byte of its body is its step.
Frame frame(std::uint32_t step, std::size_t bytes) {
  const FrameHeaderBytes header = encode(FrameHeader{FrameType::kData, tag(step).bits(), bytes});
  Frame whole(header.size() + bytes, static_cast<std::byte>(step));
  copy<std::byte>(header, Bytes(whole).first(header.size()));
  return whole;
}

// In one call, as a peer does that has them all. False where the kernel does not take them.
bool write(Stream& to, std::span<const ConstBytes> frames) {
  std::size_t count = 0;
  return to.write(frames, count) == Result::kDone;
}

void expect_body(std::span<const std::byte> body, std::uint32_t step) {
  for (const std::byte each : body) ASSERT_EQ(each, static_cast<std::byte>(step)) << "of message " << step;
}

TEST(Connection, DeliversASmallFrameBehindALargeOneThatCameInTheSameWrite) {
  Session session;
  OneThread rank(session);
  std::vector<std::byte> large(100 * 1024);
  std::vector<std::byte> small(32);
  const Request first = rank.receive(0, large);
  const Request second = rank.receive(1, small);
  const Frame frames[]{frame(0, large.size()), frame(1, small.size())};
  ASSERT_TRUE(write(session.there(), std::array<ConstBytes, 2>{frames[0], frames[1]}));
  first->wait();
  // Nothing comes any more: whoever waits for the second one has no event but those that are ready now.
  rank.run_what_is_ready();
  EXPECT_TRUE(second->ready_by(kNever));
  second->wait();
  expect_body(large, 0);
  expect_body(small, 1);
}

TEST(Connection, DeliversMoreFramesThanOneLookTakesIn) {
  Session session;
  OneThread rank(session);
  constexpr std::uint32_t kFrames = 850;
  constexpr std::size_t kBytes = 5000;
  std::vector<std::vector<std::byte>> bodies(kFrames, std::vector<std::byte>(kBytes));
  std::vector<Request> requests;
  // All of it must lie in the kernel before the first look, or that look does not meet its limit.
  for (std::uint32_t step = 0; step < kFrames; ++step) {
    requests.push_back(rank.receive(step, bodies[step]));
    const Frame one = frame(step, kBytes);
    // A record each: their ends are not those of what TLS takes from the kernel at a time.
    if (!write(session.there(), std::array<ConstBytes, 1>{one}))
      GTEST_SKIP() << "the kernel holds no 5 MB for a socket: SO_SNDBUFFORCE needs CAP_NET_ADMIN";
  }
  rank.run_what_is_ready();
  for (std::uint32_t step = 0; step < kFrames; ++step) {
    ASSERT_TRUE(requests[step]->ready_by(kNever)) << "message " << step << " was not delivered";
    requests[step]->wait();
    expect_body(bodies[step], step);
  }
}

}  // namespace
}  // namespace tacit::test
