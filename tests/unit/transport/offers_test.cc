// SPDX-License-Identifier: MIT
// Messages out of a peer's memory: whose memory is read, and who is believed.
#include "transport/tcp/offers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/low_limit.h"
#include "support/refusal.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

using boost::asio::ip::tcp;

constexpr uid_t kNobody = 65534;

// A process that runs `body` and then waits until it is ended.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : process_(::fork()) {
    if (process_ != 0) return;
    body();
    for (;;) ::pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  std::uint32_t number() const { return static_cast<std::uint32_t>(process_); }
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_;
};

// A connection whose other end is a bare socket, of this process unless a child has connected.
class Loopback {
 public:
  Loopback() : acceptor_(io_, {boost::asio::ip::make_address_v4("127.0.0.1"), 0}) {}
  sockaddr_in address() const {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(acceptor_.local_endpoint().port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return to;
  }
  static int connect(const sockaddr_in& to) {
    const int end = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::connect(end, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? end : -1;
  }
  std::shared_ptr<Stream> accept() {
    return std::make_shared<Stream>(acceptor_.accept(), nullptr, Stream::Role::kServer);
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
};

TcpOptions with_key() {
  TcpOptions options;
  options.key = JobKey::random();
  return options;
}

TEST(PeerMemories, AreThoseOfTheProcessAtTheOtherEnd) {
  Loopback loopback;
  static std::uint64_t value = 1;  // at one address in both processes
  const sockaddr_in to = loopback.address();
  Child peer([&] {
    value = 2;
    if (Loopback::connect(to) < 0) ::_exit(1);
  });
  const Child other([] { value = 3; });
  const auto stream = loopback.accept();
  const auto is = [&](std::uint32_t process) { return reach_memory(with_key(), *stream)->is(process); };
  EXPECT_FALSE(is(static_cast<std::uint32_t>(::getpid()))) << "our own";
  EXPECT_FALSE(is(other.number())) << "one that does not hold the connection";
  EXPECT_FALSE(is(1));
  EXPECT_FALSE(is(0));
  EXPECT_FALSE(is(0xFFFFFFFF));

  const auto memory = reach_memory(with_key(), *stream);
  std::uint64_t found = 0;
  const Bytes into = std::as_writable_bytes(std::span(&found, 1));
  const auto address = reinterpret_cast<std::uint64_t>(&value);
  EXPECT_FALSE(memory->read(address, into)) << "before it is known whose";
  ASSERT_TRUE(memory->is(peer.number()));
  if (!memory->read(address, into)) GTEST_SKIP() << "the kernel lets no process read another here";
  EXPECT_EQ(found, 2U);
  peer.end();
  EXPECT_FALSE(memory->read(address, into)) << "its number may be another's now";
}

TEST(PeerMemories, OfAnotherUserAreNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  Loopback loopback;
  ::setfsuid(kNobody);  // whose the socket is then, though its process is ours
  const int end = Loopback::connect(loopback.address());
  ::setfsuid(0);
  const auto stream = loopback.accept();
  EXPECT_FALSE(reach_memory(with_key(), *stream)->is(static_cast<std::uint32_t>(::getpid())));
  ::close(end);

  const sockaddr_in to = loopback.address();
  const Child nobody([&] {
    if (Loopback::connect(to) < 0 || ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(1);
    ::raise(SIGSTOP);
  });
  const auto theirs = loopback.accept();
  ::waitpid(static_cast<pid_t>(nobody.number()), nullptr,
            WUNTRACED);  // it has another user now, and root's socket
  EXPECT_FALSE(reach_memory(with_key(), *theirs)->is(nobody.number()));
}

TEST(PeerMemories, NeedAKey) {
  Loopback loopback;
  const int end = Loopback::connect(loopback.address());
  const auto stream = loopback.accept();
  TcpOptions options = with_key();
  EXPECT_TRUE(reach_memory(options, *stream));
  options.share_memory = false;
  EXPECT_FALSE(reach_memory(options, *stream));
  options.share_memory = true;
  options.key.reset();
  EXPECT_FALSE(reach_memory(options, *stream));
  ::close(end);
}

constexpr std::size_t kRingBytes = 4096;
constexpr std::uint32_t kProcess = 7;
constexpr std::uint64_t kAddress = 0x1000;
constexpr MemoryToken kToken{std::byte{4}, std::byte{2}};

// One process, which has the token at one address.
class KnownMemory final : public PeerMemory {
 public:
  MemoryToken token() override { return kToken; }
  bool is(std::uint32_t process) override { return process == kProcess; }
  bool read(std::uint64_t address, Bytes into) override {
    if (address != kAddress || into.size() != kToken.size()) return false;
    copy<std::byte>(kToken, into);
    return true;
  }
  std::shared_ptr<RingMemory> rings(std::uint32_t descriptor, std::uint64_t bytes,
                                    std::string& why) override {
    auto opened = RingMemory::open(::dup(static_cast<int>(descriptor)), bytes);
    if (!opened) why = "no such descriptor";
    return opened;
  }
};

// A rank with offers to and from one peer, which is a bare socket.
class OneOffer final : public ConnectionOwner {
 public:
  explicit OneOffer(std::unique_ptr<PeerMemory> memory, int rank = 0)
      : peer_(Loopback::connect(loopback_.address())),
        connection_(*this, inbox_, ledger_, 1, loopback_.accept()),
        offers_(1, connection_,
                {inbox_, ledger_, *this, [] {}, rank, kRingBytes, 0,
                 [this](int peer, const std::string& why) {
                   lacks_.push_back(std::to_string(peer) + " " + why);
                 }},
                std::move(memory)) {}
  ~OneOffer() override {
    inbox_.clear();
    ::close(peer_);
  }
  OneOffer(const OneOffer&) = delete;
  OneOffer& operator=(const OneOffer&) = delete;

  Offers& offers() { return offers_; }
  const std::vector<std::string>& lacks() const { return lacks_; }  // of rings, and why
  void hear(FrameType type, const Payload& payload, std::uint64_t tag = 0) {
    offers_.on_frame({type, tag, payload.size()}, payload);
  }
  // The types of the frames it has sent: waits for so many, and says of any more that are there.
  std::vector<FrameType> said(std::size_t expected) {
    std::vector<FrameType> types;
    std::array<std::byte, kFrameHeaderBytes> head{};
    while (read(head, types.size() < expected)) {
      const FrameHeader header = decode_frame(head);
      types.push_back(header.type);
      std::vector<std::byte> payload(header.length);
      EXPECT_TRUE(payload.empty() || read(payload, true));
      if (header.type != FrameType::kSwitch) continue;
      std::array<std::byte, 1> bell{};
      EXPECT_TRUE(read(bell, true)) << "one bell follows the last frame";
      EXPECT_FALSE(read(bell, false));
      break;
    }
    return types;
  }

  void wait(int, Tag, const std::atomic<bool>&) override {}
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void wait_returned(int, const std::atomic<bool>&) override {}
  void between_reads(int, const std::function<void()>& fn) override { connection_.between_reads(fn); }
  void on_control(int, const FrameHeader&, ConstBytes) override {}
  void on_lost(int, const std::string& why) override { ADD_FAILURE() << why; }
  void on_progress() override {}

 private:
  // False where nothing is there and nobody waits for it.
  bool read(std::span<std::byte> into, bool wait) const {
    if (!wait && ::recv(peer_, into.data(), 1, MSG_PEEK | MSG_DONTWAIT) != 1) return false;
    constexpr timeval kLimit{60, 0};
    ::setsockopt(peer_, SOL_SOCKET, SO_RCVTIMEO, &kLimit, sizeof kLimit);
    const ssize_t count = ::recv(peer_, into.data(), into.size(), MSG_WAITALL);
    return count == static_cast<ssize_t>(into.size());
  }

  Loopback loopback_;
  const int peer_;
  std::vector<std::string> lacks_;
  Ledger ledger_{2, 0};
  Inbox inbox_{0, ledger_, *this};
  Connection connection_;
  Offers offers_;
};

using Said = std::vector<FrameType>;
constexpr Tag kTag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);

Payload proof(std::uint32_t process, std::uint64_t address) { return encode(MemoryProof{process, address}); }

TEST(OffersTest, BeginWithAProof) {
  OneOffer rank(std::make_unique<KnownMemory>());
  rank.offers().invite();
  EXPECT_EQ(rank.said(1), Said{FrameType::kMemory});
  EXPECT_THROW(rank.hear(FrameType::kOffer, encode(OfferedMessage{1, kAddress, 16}), kTag.bits()), BadFrame);
  rank.hear(FrameType::kProof, proof(kProcess, kAddress));
  EXPECT_EQ(rank.said(1), Said{FrameType::kReadable});
  EXPECT_NO_THROW(rank.hear(FrameType::kOffer, encode(OfferedMessage{1, kAddress, 16}), kTag.bits()));
}

TEST(OffersTest, ArePossibleOnceThePeerHasReadWhatItMadeUp) {
  OneOffer rank(std::make_unique<KnownMemory>());
  EXPECT_THROW(rank.hear(FrameType::kReadable, {}), BadFrame) << "it has not tried";
  rank.hear(FrameType::kMemory, encode_token(kToken));
  EXPECT_EQ(rank.said(1), Said{FrameType::kProof});
  EXPECT_FALSE(rank.offers().possible());
  rank.hear(FrameType::kReadable, {});
  EXPECT_TRUE(rank.offers().possible());
  EXPECT_THROW(rank.hear(FrameType::kMemory, encode_token(kToken)), BadFrame) << "a second time";
}

// A rank above its peer, which has proven its memory.
void begin(OneOffer& higher) {
  higher.offers().invite();
  higher.hear(FrameType::kProof, proof(kProcess, kAddress));
  higher.said(2);
}

TEST(Rings, AreMadeByTheLowerRankOnceThePeerHasReadItsMemory) {
  OneOffer lower(std::make_unique<KnownMemory>());
  EXPECT_THROW(lower.hear(FrameType::kSwitch, {}), BadFrame) << "there is none";
  lower.hear(FrameType::kMemory, encode_token(kToken));
  lower.hear(FrameType::kReadable, {});
  EXPECT_EQ(lower.said(2), (Said{FrameType::kProof, FrameType::kRings}));
  EXPECT_THROW(lower.hear(FrameType::kRings, encode(RingOffer{0, kRingBytes})), BadFrame) << "not proven";
  lower.hear(FrameType::kSwitch, {});
  EXPECT_EQ(lower.said(1), Said{FrameType::kSwitch});
  EXPECT_THROW(lower.hear(FrameType::kSwitch, {}), BadFrame) << "a second time";
}

TEST(Rings, AreTakenByTheHigherRankOnce) {
  std::string why;
  const auto made = RingMemory::make(kRingBytes, why);
  ASSERT_TRUE(made) << why;
  const Payload rings = encode(RingOffer{static_cast<std::uint32_t>(made->descriptor()), kRingBytes});
  OneOffer higher(std::make_unique<KnownMemory>(), 2);
  EXPECT_THROW(higher.hear(FrameType::kRings, rings), BadFrame) << "of memory that is not proven";
  begin(higher);
  higher.hear(FrameType::kRings, rings);
  EXPECT_EQ(higher.said(1), Said{FrameType::kSwitch});
  EXPECT_THROW(higher.hear(FrameType::kRings, rings), BadFrame);
  EXPECT_TRUE(higher.lacks().empty());
}

TEST(Rings, ThatCannotBeOpenedLeaveAllOnTheSocketAndThatIsSaid) {
  OneOffer higher(std::make_unique<KnownMemory>(), 2);
  begin(higher);
  higher.hear(FrameType::kRings, encode(RingOffer{0xFFFFFFFF, kRingBytes}));
  EXPECT_EQ(higher.said(0), Said{});
  EXPECT_EQ(higher.lacks(), std::vector<std::string>{"1 no such descriptor"});
  EXPECT_THROW(higher.hear(FrameType::kSwitch, {}), BadFrame);
}

TEST(Rings, ThatCannotBeMadeLeaveAllOnTheSocketAndThatIsSaid) {
  OneOffer lower(std::make_unique<KnownMemory>());
  lower.hear(FrameType::kMemory, encode_token(kToken));
  {
    const LowLimit files(RLIMIT_FSIZE, kRingBytes);
    lower.hear(FrameType::kReadable, {});
  }
  EXPECT_EQ(lower.said(1), Said{FrameType::kProof});
  ASSERT_EQ(lower.lacks().size(), 1U);
  EXPECT_NE(lower.lacks().front().find("ulimit -f"), std::string::npos) << lower.lacks().front();
  EXPECT_TRUE(lower.offers().possible());
  EXPECT_THROW(lower.hear(FrameType::kSwitch, {}), BadFrame);
}

TEST(OffersTest, AreRefusedAfterOneWrongProof) {
  for (const auto& [process, address] :
       {std::pair{kProcess + 1, kAddress}, std::pair{kProcess, kAddress + 16}}) {
    OneOffer rank(std::make_unique<KnownMemory>());
    rank.offers().invite();
    rank.said(1);
    rank.hear(FrameType::kProof, proof(process, address));
    EXPECT_EQ(rank.said(0), Said{});
    EXPECT_THROW(rank.hear(FrameType::kProof, proof(kProcess, kAddress)), BadFrame) << "a second try";
    EXPECT_THROW(rank.hear(FrameType::kOffer, encode(OfferedMessage{1, kAddress, 16}), kTag.bits()),
                 BadFrame);
  }
}

TEST(OffersTest, AreNeitherMadeNorTakenWithoutMemoryToTry) {
  OneOffer rank(nullptr);  // as without a key
  rank.offers().invite();
  rank.hear(FrameType::kMemory, encode_token(kToken));
  EXPECT_EQ(rank.said(0), Said{});
  EXPECT_THROW(rank.hear(FrameType::kReadable, {}), BadFrame);
  EXPECT_THROW(rank.hear(FrameType::kProof, proof(kProcess, kAddress)), BadFrame);
  EXPECT_THROW(rank.hear(FrameType::kOffer, encode(OfferedMessage{1, kAddress, 16}), kTag.bits()), BadFrame);
  EXPECT_FALSE(rank.offers().possible());
}

}  // namespace
}  // namespace tacit::test
