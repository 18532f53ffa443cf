// SPDX-License-Identifier: MIT
// Those who should not get in, and what they cannot keep the ranks from.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "support/meeting.h"
#include "support/refusal.h"

namespace tacit::test {
namespace {

constexpr uid_t kNobody = 65534;

class Strangers : public Meeting {
 protected:
  // Rank 0, which meets in the background.
  std::unique_ptr<Task> host(TcpOptions options) {
    return tasks_.spawn("host", [this, options] {
      try {
        fabric_ = open_tcp(options);
      } catch (const std::exception& error) {
        error_ = error.what();
      }
    });
  }
  std::vector<std::unique_ptr<Stranger>> silent(int count) {
    std::vector<std::unique_ptr<Stranger>> all;
    for (int i = 0; i < count; ++i) all.push_back(std::make_unique<Stranger>(listener_.port()));
    return all;
  }

  ThreadTasks tasks_;
  std::unique_ptr<Fabric> fabric_;
  std::string error_;
};

TEST_F(Strangers, StrangersAreSentAwayAndTheRanksMeet) {
  for (const bool encrypted : {true, false}) {
    Listener place;
    if (!encrypted) key_.reset();
    std::vector<std::unique_ptr<Fabric>> fabrics(2);
    ThreadTasks tasks;
    TcpOptions zero = rank(0, 2);
    zero.listener = ::dup(place.give());
    zero.rendezvous = place.url();
    const auto host = tasks.spawn("host", [&] { fabrics[0] = open_tcp(zero); });
    std::vector<std::unique_ptr<Stranger>> strangers;
    const Payload hello = frame(FrameType::kHello, encode(Hello{1, 2, "tacit", 1}));
    for (int i = 0; i < 50; ++i) {
      strangers.push_back(std::make_unique<Stranger>(place.port()));
      ASSERT_TRUE(strangers.back()->connected());
      switch (i % 5) {
        case 0:
          strangers.back()->say("GET / HTTP/1.1\r\nHost: tacit\r\n\r\n");
          break;
        case 1:
          strangers.back()->say(std::string(5000, '\xff'));
          break;
        case 2:
          strangers.back()->say(ConstBytes(hello).first(hello.size() / 2));
          break;
        case 3:
          strangers.back()->say(encode(FrameHeader{FrameType::kHello, 0, kMostControlBytes}));
          break;
        default:
          break;  // says nothing
      }
    }
    TcpOptions one = rank(1, 2);
    one.rendezvous = place.url();
    fabrics[1] = open_tcp(one);
    host->join();
    std::vector<std::byte> out(100'000, std::byte{7});
    std::vector<std::byte> in(out.size());
    const Tag tag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
    const Request got = fabrics[1]->endpoint().irecv(0, tag, in);
    fabrics[0]->endpoint().isend(1, tag, out)->wait();
    got->wait();
    EXPECT_EQ(in, out);
    for (const auto& fabric : fabrics) fabric->leave({});
  }
  EXPECT_NE(reports_.text().find("HTTP"), std::string::npos) << reports_.text();
}

TEST_F(Strangers, ARecordedHandshakeLetsNobodyIn) {
  // A stranger in the middle records what rank 1 says to rank 0, and says it again to the next meeting with the same
  // key.
  std::string recorded;
  {
    Listener middle;
    std::vector<std::unique_ptr<Fabric>> fabrics(2);
    ThreadTasks tasks;
    const TcpOptions zero = rank(0, 2);
    TcpOptions one = rank(1, 2);
    one.rendezvous = middle.url();
    one.start_limit = Seconds(4);  // it comes again after it was dropped without a word
    const int port = listener_.port();
    const auto relay = tasks.spawn("relay", [&] {
      const int client = ::accept(middle.give(), nullptr, nullptr);
      Stranger to_host(port);
      std::array<char, 8192> some{};
      const ssize_t count = ::recv(client, some.data(), some.size(), 0);
      recorded.assign(some.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      ::close(client);
    });
    EXPECT_THROW(open_tcp(one), Error);
    relay->join();
  }
  ASSERT_FALSE(recorded.empty());
  Listener place;
  TcpOptions zero = rank(0, 2);
  zero.listener = ::dup(place.give());
  zero.rendezvous = place.url();
  zero.start_limit = Seconds(2);
  ThreadTasks tasks;
  std::string outcome;
  const auto host = tasks.spawn("host", [&] { outcome = refusal<Timeout>([&] { open_tcp(zero); }); });
  for (std::size_t size : {recorded.size(), recorded.size() / 2, std::size_t{5}}) {  // whole, and cut short
    Stranger replay(place.port());
    replay.say(recorded.substr(0, size));
  }
  host->join();
  EXPECT_NE(outcome.find("had not come: 1"), std::string::npos) << outcome;
}

// Before their time is up, which is longer than the limit here, and more of them than there are places.
TEST_F(Strangers, WhoSayNothingLeaveTheirPlacesToRanks) {
  for (const bool encrypted : {true, false}) {
    Listener place;
    if (!encrypted) key_.reset();
    std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
    for (TcpOptions& each : all) {
      each.rendezvous = place.url();
      each.start_limit = Seconds(4);
    }
    all[0].listener = place.give();
    const auto meeting = host(all[0]);
    std::vector<std::unique_ptr<Stranger>> crowd;
    for (int i = 0; i < 400; ++i) crowd.push_back(std::make_unique<Stranger>(place.port()));
    const auto fabric = open_tcp(all[1]);
    meeting->join();
    EXPECT_EQ(error_, "");
    ASSERT_TRUE(fabric_);
    fabric->leave({});
    fabric_->leave({});
  }
  EXPECT_NE(reports_.text().find("to make room for others"), std::string::npos) << reports_.text();
}

TEST_F(Strangers, OfOneAddressAreFewAndRanksOfItMany) {
  constexpr int kRanks = 24;
  std::vector<TcpOptions> all;
  for (int r = 0; r < kRanks; ++r) all.push_back(rank(r, kRanks));
  const auto crowd = silent(64);
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
}

TEST_F(Strangers, WhoTookThePlacesAreBlamedAndNotTheKey) {
  TcpOptions zero = rank(0, 2);
  zero.start_limit = Seconds(4);
  const auto meeting = host(zero);
  const auto crowd = silent(40);
  reports_.wait_for("to make room for others");
  meeting->join();
  EXPECT_NE(error_.find("had not come: 1; "), std::string::npos) << error_;
  EXPECT_NE(error_.find("connections that did not say who they are, the last from 127.0.0.1"),
            std::string::npos)
      << error_;
}

TEST_F(Strangers, WhoNeverAnswerARankAreNotSaidToHaveAnotherKey) {
  TcpOptions one = rank(1, 2);  // the listener's queue takes its connection, and nobody else does
  one.start_limit = Seconds(0.5);
  const std::string why = refusal<Timeout>([&] { open_tcp(one); });
  EXPECT_EQ(why.find("key"), std::string::npos) << why;
  EXPECT_NE(why.find("did not talk to it"), std::string::npos) << why;
}

TEST_F(Strangers, PutNoEscapeCodesIntoALog) {
  key_.reset();
  TcpOptions zero = rank(0, 2);
  zero.start_limit = Seconds(4);
  const auto meeting = host(zero);
  Stranger stranger(listener_.port());
  stranger.say(frame(FrameType::kHello, encode(Hello{1, 2, "\x1b[2J", 1})));
  meeting->join();
  EXPECT_NE(reports_.text().find("job '\\x1b[2J'"), std::string::npos) << reports_.text();
  EXPECT_EQ(reports_.text().find('\x1b'), std::string::npos);
}

// Sockets belong to whom the thread is for the file system, and threads may differ in that.
class AsNobody {
 public:
  AsNobody() { ::setfsuid(kNobody); }
  ~AsNobody() { ::setfsuid(::geteuid()); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

TEST_F(Strangers, OfAnotherUserAreRefusedWithoutAKey) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  key_.reset();
  TcpOptions zero = rank(0, 2);
  zero.start_limit = Seconds(4);
  const auto meeting = host(zero);
  std::string why;
  {
    const AsNobody other;
    Stranger stranger(listener_.port());
    stranger.say(frame(FrameType::kHello, encode(Hello{1, 2, "tacit", 1})));
    why = stranger.hear();
  }
  meeting->join();
  for (const std::string& text : {why, reports_.text()}) {
    EXPECT_NE(text.find("nobody (65534)"), std::string::npos) << text;
    EXPECT_NE(text.find("root (0)"), std::string::npos) << text;
    EXPECT_NE(text.find("--key-file"), std::string::npos) << text;
  }
}

TEST_F(Strangers, OfAnotherUserAreNotJoinedWithoutAKey) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  key_.reset();
  std::unique_ptr<Listener> theirs;
  int client = -1;
  const auto imposter = [&] {
    const AsNobody other;
    theirs = std::make_unique<Listener>();
  };
  imposter();
  const auto answer = tasks_.spawn("imposter", [&] {
    const AsNobody other;
    client = ::accept(theirs->give(), nullptr, nullptr);
    const Payload welcome = frame(FrameType::kWelcome, encode(Welcome{0, {{"", 0}, {"127.0.0.1", 1}}}));
    (void)!::send(client, welcome.data(), welcome.size(), MSG_NOSIGNAL);
  });
  TcpOptions one = rank(1, 2);
  one.rendezvous = theirs->url();
  one.start_limit = Seconds(5);
  const std::string why = refusal<Mismatch>([&] { open_tcp(one); });
  answer->join();
  ::close(client);
  EXPECT_NE(why.find("nobody (65534)"), std::string::npos) << why;
  EXPECT_NE(why.find("--key-file"), std::string::npos) << why;
}

TEST_F(Strangers, ComeAgainWhereDescriptorsAreShort) {
  const auto one = rank(1, 2);
  const auto meeting = host(rank(0, 2));
  Stranger first(listener_.port());  // once it is heard, all that rank 0 needs is open
  first.say("GET / HTTP/1.1\r\nHost: tacit\r\n\r\n");
  reports_.wait_for("sent 127.0.0.1");

  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  Stranger second(0);  // not connected yet
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  second.connect(listener_.port());
  reports_.wait_for("ulimit -n");
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  ::setrlimit(RLIMIT_NOFILE, &before);

  const auto fabric = open_tcp(one);
  meeting->join();
  EXPECT_EQ(error_, "");
  const std::string text = reports_.text();
  EXPECT_EQ(text.find("ulimit -n"), text.rfind("ulimit -n")) << "said once: " << text;
  fabric->leave({});
  fabric_->leave({});
}

// What a rank starts holds none of its sockets, or its peers would not see that it is gone.
TEST_F(Strangers, ThatARankStartsInheritNoSocket) {
  const auto inheritable = [] {
    int count = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      const int flags = ::fcntl(fd, F_GETFD);
      sockaddr_storage address{};
      socklen_t length = sizeof address;
      if (flags >= 0 && (flags & FD_CLOEXEC) == 0 &&
          ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0)
        ++count;
    }
    return count;
  };
  TcpOptions zero = rank(0, 3);
  zero.listener = ::dup(zero.listener);  // which clears the flag, as for a process that inherits it
  ASSERT_EQ(inheritable(), 1);
  std::vector<std::unique_ptr<Fabric>> fabrics(3);
  run_ranks(3, [&](int r) {
    fabrics[static_cast<std::size_t>(r)] = open_tcp(r == 0 ? zero : rank(r, 3));
    EXPECT_EQ(inheritable(), 0);
  });
  run_ranks(3, [&](int r) { fabrics[static_cast<std::size_t>(r)]->leave({}); });
}

}  // namespace
}  // namespace tacit::test
