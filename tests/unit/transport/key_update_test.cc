// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/memory_wire.h"
#include "transport/tcp/stream.h"

namespace tacit::test {
namespace {

using Result = Stream::Result;
constexpr std::size_t kRecord = std::size_t{16} * 1024;

// Both ends of a TLS session over memory, after the handshake.
class TwoEnds {
 public:
  explicit TwoEnds(std::uint64_t records_per_key) : tls_(JobKey::random(), "test", records_per_key) {
    MemoryLink link(io_, io_, rng_);
    pipes_ = link.pipes;
    for (const std::size_t side : {0U, 1U}) {
      pipes_[side]->window = 50'000;
      ends_[side] = std::make_unique<Stream>(std::move(link.wires[side]), &tls_,
                                             side == 0 ? Stream::Role::kServer : Stream::Role::kClient);
    }
    for (Result a = Result::kAgain, b = Result::kAgain; a != Result::kDone || b != Result::kDone; move()) {
      if (b != Result::kDone) b = ends_[1]->handshake();
      if (a != Result::kDone) a = ends_[0]->handshake();
    }
  }
  Stream& operator[](std::size_t side) { return *ends_[side]; }
  void move() {
    for (const auto& pipe : pipes_) pipe->move(pipe->window);
  }
  // All of it, in as many writes as it takes; gives what came out.
  std::vector<std::byte> carry(std::size_t from, ConstBytes data) {
    std::vector<std::byte> got;
    std::vector<std::byte> some(10'000);
    for (int turns = 0; got.size() < data.size() && turns < 100'000; ++turns) {
      const std::size_t before = written_;
      if (written_ - start_ < data.size()) {
        std::size_t count = 0;
        const std::array<ConstBytes, 1> rest{data.subspan(written_ - start_)};
        ends_[from]->write(rest, count);
        written_ = before + count;
      } else {
        std::size_t count = 0;
        ends_[from]->write({}, count);  // what TLS has collected
      }
      move();
      for (std::size_t count = 0; ends_[1 - from]->read(some, {}, count) == Result::kDone;)
        got.insert(got.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    start_ = written_;
    return got;
  }

 private:
  boost::asio::io_context io_;
  Rng rng_{1, 0, 0, Rng::Use::kData};
  const TlsContext tls_;
  std::array<std::shared_ptr<MemoryPipe>, 2> pipes_;
  std::array<std::unique_ptr<Stream>, 2> ends_;
  std::size_t written_ = 0;
  std::size_t start_ = 0;
};

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 + (i >> 8U));
  return data;
}

TEST(TlsKeyUpdate, HappensInEachDirectionAfterSoManyRecordsAndTheDataArrives) {
  TwoEnds ends(4);
  const std::vector<std::byte> data =
      pattern(20 * kRecord);  // 20 records: new keys before the 5th, 9th, 13th and 17th
  EXPECT_EQ(ends.carry(0, data), data);
  EXPECT_EQ(ends[0].key_updates(), 4U);
  EXPECT_EQ(ends[1].key_updates(), 0U);  // it counts what it writes itself
  EXPECT_EQ(ends.carry(1, data), data);
  EXPECT_EQ(ends[1].key_updates(), 4U);
  EXPECT_EQ(ends.carry(0, data), data);
  EXPECT_EQ(ends[0].key_updates(), 9U);
}

TEST(TlsKeyUpdate, DoesNotHappenBeforeTheLimitOfTheCipher) {
  TwoEnds ends(TlsContext::kRecordsPerKey);
  const std::vector<std::byte> data = pattern(20 * kRecord);
  EXPECT_EQ(ends.carry(0, data), data);
  EXPECT_EQ(ends[0].key_updates(), 0U);
  EXPECT_EQ(TlsContext::kRecordsPerKey, 8'388'608U);  // 128 GiB in full records; 2^24.5 are allowed
}

}  // namespace
}  // namespace tacit::test
