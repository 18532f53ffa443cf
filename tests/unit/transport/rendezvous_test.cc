// SPDX-License-Identifier: MIT
// Ranks that meet over real sockets, and those who should not get in.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "support/on_every_rank.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/transport/tcp.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"

namespace tacit::test {
namespace {

// A socket that listens on loopback before rank 0 is there, as tacit launch makes one.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket_, 128) != 0 ||
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
  explicit Stranger(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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

Payload frame(FrameType type, const Payload& payload) {
  const auto head = encode(FrameHeader{type, 0, payload.size()});
  Payload whole(head.begin(), head.end());
  whole.insert(whole.end(), payload.begin(), payload.end());
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

 private:
  std::mutex mutex_;
  std::string lines_;
};

class Rendezvous : public ::testing::Test {
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

TEST_F(Rendezvous, FiveRanksMeetInAnyOrder) {
  std::vector<TcpOptions> all;
  for (int r = 0; r < 5; ++r) all.push_back(rank(r, 5));
  std::swap(all[0], all[4]);
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
}

TEST_F(Rendezvous, RankZeroMayComeLast) {
  std::vector<std::unique_ptr<Fabric>> fabrics(2);
  ThreadTasks tasks;
  const TcpOptions zero = rank(0, 2);
  const auto one = tasks.spawn("one", [&] { fabrics[1] = open_tcp(rank(1, 2)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  fabrics[0] = open_tcp(zero);
  one->join();
  for (const auto& fabric : fabrics) fabric->leave({});
}

TEST_F(Rendezvous, ARankThatComesTwiceIsToldSoAndTheFirstGoesOn) {
  std::vector<std::string> errors;
  ThreadTasks tasks;
  const auto meeting = tasks.spawn("meeting", [&] { errors = meet({rank(0, 3), rank(1, 3), rank(1, 3)}); });
  while (reports_.text().find("is here already") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto last = open_tcp(rank(2, 3));  // until now the meeting went on
  meeting->join();
  last->leave({});
  EXPECT_EQ(errors[0], "");
  EXPECT_NE(errors[1].empty(), errors[2].empty());
  EXPECT_NE((errors[1] + errors[2]).find("is here already"), std::string::npos) << errors[1] << errors[2];
}

TEST_F(Rendezvous, WhoeverComesWhenAllHaveMetIsNotLetIn) {
  const auto errors = meet({rank(0, 2), rank(1, 2)});
  EXPECT_EQ(errors, std::vector<std::string>(2));
  TcpOptions late = rank(1, 2);
  late.start_limit = Seconds(0.3);
  EXPECT_THROW(open_tcp(late), Error);
}

TEST_F(Rendezvous, AnotherSizeIsRefusedOnBothSides) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 3)};
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("3 ranks"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("3 ranks"), std::string::npos) << reports_.text();
  EXPECT_NE(errors[0].find("had not come: 1"), std::string::npos) << errors[0];
}

TEST_F(Rendezvous, AnotherJobIsRefusedOnBothSides) {
  key_.reset();  // a job's key refuses the other job before it can speak; see AWrongKey...
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].job = "another";
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("job 'another'"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("job 'another'"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, AWrongKeyIsRefusedOnBothSides) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].key = JobKey::random();
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("do not have the same job key"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("does not have our job key"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, NoKeyWhereOneIsNeededIsRefused) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].key.reset();
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("has a job key and this rank has none"), std::string::npos) << errors[1];
}

TEST_F(Rendezvous, AKeyWhereNoneIsUsedIsRefused) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].key.reset();
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  EXPECT_NE(errors[1], "");
  EXPECT_NE(reports_.text().find("TLS"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, TheMissingAreNamedByAllWhoCame) {
  std::vector<TcpOptions> all{rank(0, 5), rank(2, 5)};
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  for (const std::string& error : errors) EXPECT_NE(error.find("1, 3 and 4"), std::string::npos) << error;
}

TEST_F(Rendezvous, ARankThatNobodyReceivesSaysWhereItTried) {
  TcpOptions lonely = rank(1, 2);
  lonely.rendezvous = "tcp://127.0.0.1:1";
  lonely.start_limit = Seconds(0.3);
  const std::string why = refusal<Timeout>([&] { open_tcp(lonely); });
  EXPECT_NE(why.find("127.0.0.1:1"), std::string::npos) << why;
}

TEST_F(Rendezvous, StrangersAreSentAwayAndTheRanksMeet) {
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

TEST_F(Rendezvous, ARecordedHandshakeLetsNobodyIn) {
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
    one.start_limit = Seconds(5);
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

TEST_F(Rendezvous, ThroughAFileNeedsNoPort) {
  const TempDir folder;
  std::vector<TcpOptions> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(rank(r, 3));
    all.back().listener = -1;
    all.back().key.reset();  // with one, rank 0 would give the machine's name, which need not resolve
    all.back().rendezvous = "file://" + (folder.path() / "meet").string();
  }
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "meet"));
}

TEST_F(Rendezvous, BadInputIsRefusedAtOnce) {
  const auto why = [&](auto change) {
    TcpOptions o = rank(1, 2);
    change(o);
    return refusal<InvalidConfig>([&] { open_tcp(o); });
  };
  EXPECT_NE(why([](auto& o) { o.rendezvous = "tcp://no.such.host.invalid:80"; }).find("does not resolve"),
            std::string::npos);
  EXPECT_NE(why([](auto& o) { o.rendezvous = "somewhere"; }).find("tcp://HOST:PORT"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.rank = 2; }).find("does not exist"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.size = 0; }).find("at least 1"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.job = std::string(65, 'x'); }).find("64"), std::string::npos);
  EXPECT_NE(why([&](auto& o) {
              o.rank = 0;  // listener_ has this port, and o.listener is not set
            }).find("in use"),
            std::string::npos);
}

TEST_F(Rendezvous, WithoutAKeyNobodyListensBeyondThisMachine) {
  key_.reset();
  for (const int me : {0, 1}) {
    TcpOptions o = rank(me, 2);
    o.listener = -1;
    o.rendezvous = "tcp://192.0.2.1:4000";  // an address for documentation; never reached
    const std::string why = refusal<InvalidConfig>([&] { open_tcp(o); });
    EXPECT_NE(why.find("without a job key"), std::string::npos) << why;
  }
}

TEST(TcpWorld, OfOneRankNeedsNobody) {
  TcpOptions o;
  o.rendezvous = "tcp://127.0.0.1:1";
  const auto fabric = open_tcp(o);
  int value = 5;
  int back = 0;
  const Tag tag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
  fabric->endpoint().isend(0, tag, std::as_bytes(std::span(&value, 1)))->wait();
  fabric->endpoint().irecv(0, tag, std::as_writable_bytes(std::span(&back, 1)))->wait();
  EXPECT_EQ(back, 5);
  fabric->leave({});
}

}  // namespace
}  // namespace tacit::test
