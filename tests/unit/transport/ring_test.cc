// SPDX-License-Identifier: MIT
// Rings between two processes: bytes arrive in order, nobody sleeps beside work, and nothing that the other side writes
// into the shared memory is believed.
#include "transport/tcp/ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/low_limit.h"
#include "transport/tcp/ring_memory.h"

namespace tacit::test {
namespace {

constexpr std::size_t kRoom = 4096;

std::vector<std::byte> some_bytes(std::size_t count, std::size_t from = 0) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((from + i) * 31 + ((from + i) >> 8U));
  return bytes;
}

// Both sides of a ring in this process's own memory, so that the thread sanitizer sees both.
struct Both {
  std::vector<std::byte> room = std::vector<std::byte>(kRoom);
  RingControl control;
  RingWriter writer{{&control, room, nullptr}};
  RingReader reader{{&control, room, nullptr}};

  std::size_t write(ConstBytes bytes) { return writer.write(std::array<ConstBytes, 1>{bytes}); }
  std::vector<std::byte> read(std::size_t most) {
    std::vector<std::byte> got(most);
    got.resize(reader.read(got, {}));
    return got;
  }
};

TEST(Ring, GivesWhatWasPutInAcrossItsEnd) {
  Both ring;
  std::size_t sent = 0;
  for (const std::size_t count : {1U, 4000U, 96U, 4096U, 2500U, 3000U, 17U}) {
    // Something is left in it each time, so that it does not begin anew.
    const std::vector<std::byte> bytes = some_bytes(count, sent);
    std::size_t done = 0;
    std::vector<std::byte> got;
    while (got.size() < count) {
      done += ring.write(ConstBytes(bytes).subspan(done));
      const std::vector<std::byte> more = ring.read(1000);
      got.insert(got.end(), more.begin(), more.end());
    }
    EXPECT_EQ(got, bytes);
    sent += count;
  }
  EXPECT_TRUE(ring.reader.empty());
  EXPECT_TRUE(ring.writer.all_taken());
}

TEST(Ring, TakesNoMoreThanItHasRoomFor) {
  Both ring;
  EXPECT_EQ(ring.write(some_bytes(kRoom + 10)), kRoom);
  EXPECT_EQ(ring.write(some_bytes(1)), 0U);
  EXPECT_EQ(ring.read(kRoom + 10), some_bytes(kRoom));
}

TEST(Ring, TellsAReaderThatAskedOnce) {
  Both ring;
  ring.write(some_bytes(1));
  EXPECT_TRUE(ring.writer.asked()) << "a reader that has not come yet sleeps";
  ring.write(some_bytes(1));
  EXPECT_FALSE(ring.writer.asked());
  ring.reader.ask();
  ring.write(some_bytes(1));
  EXPECT_TRUE(ring.writer.asked());
}

TEST(Ring, TellsAWriterThatFoundNoRoom) {
  Both ring;
  ring.write(some_bytes(kRoom));
  ring.read(1);
  EXPECT_FALSE(ring.reader.asked());
  ring.write(some_bytes(2));
  ring.read(1);
  EXPECT_TRUE(ring.reader.asked());
  ring.read(1);
  EXPECT_FALSE(ring.reader.asked());
}

TEST(Ring, CarriesBytesBetweenThreads) {
  Both ring;
  constexpr std::size_t kBytes = 300'000;
  const std::vector<std::byte> all = some_bytes(kBytes);
  std::thread writer([&] {
    for (std::size_t at = 0; at < kBytes;) {
      at += ring.write(ConstBytes(all).subspan(at, std::min<std::size_t>(1 + at % 5000, kBytes - at)));
      std::this_thread::yield();
    }
  });
  std::vector<std::byte> got;
  while (got.size() < kBytes && !ring.reader.broken()) {
    const std::vector<std::byte> more = ring.read(1 + got.size() % 3000);
    got.insert(got.end(), more.begin(), more.end());
    if (more.empty()) std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(got, all);
}

// Whatever one side tells, the other reads and writes within the room and says that it is broken, or goes on.
TEST(Ring, BelievesNoCounterThatCannotBe) {
  for (const std::uint64_t lie : {std::uint64_t{kRoom + 1}, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    Both reading;
    reading.control.written.store(lie);
    reading.control.start.store(lie / 3);
    EXPECT_TRUE(reading.read(2 * kRoom).empty());
    EXPECT_TRUE(reading.reader.broken());

    Both writing;
    writing.write(some_bytes(10));
    writing.control.taken.store(lie);
    EXPECT_EQ(writing.write(some_bytes(10)), 0U);
    EXPECT_TRUE(writing.writer.broken());
  }
}

TEST(Ring, StaysWithinItsRoomWhereverItIsToldToStart) {
  Both ring;
  for (const std::uint64_t lie : {std::uint64_t{1}, std::uint64_t{kRoom * 7 + 5}, ~std::uint64_t{0}}) {
    ring.write(some_bytes(100));
    ring.control.start.store(lie);
    EXPECT_EQ(ring.read(100).size(), 100U);  // of anything: the address sanitizer sees where from
  }
}

TEST(RingMemories, ShowBothSidesTheSameBytes) {
  std::string why;
  const auto made = RingMemory::make(kRoom, why);
  ASSERT_TRUE(made) << why;
  const auto opened = RingMemory::open(::dup(made->descriptor()), kRoom);
  ASSERT_TRUE(opened);
  RingWriter writer(made->from_maker());
  RingReader reader(opened->from_maker());
  const std::vector<std::byte> bytes = some_bytes(100);
  EXPECT_EQ(writer.write(std::array<ConstBytes, 1>{bytes}), bytes.size());
  std::vector<std::byte> got(bytes.size());
  EXPECT_EQ(reader.read(got, {}), bytes.size());
  EXPECT_EQ(got, bytes);
  EXPECT_TRUE(RingReader(opened->to_maker()).empty());
}

TEST(RingMemories, AreRefusedWhereTheyCouldShrinkOrAreSomethingElse) {
  std::string why;
  const auto made = RingMemory::make(kRoom, why);
  ASSERT_TRUE(made) << why;
  EXPECT_FALSE(RingMemory::open(::dup(made->descriptor()), 2 * kRoom)) << "of another size";
  EXPECT_FALSE(RingMemory::open(::dup(made->descriptor()), kRoom + 1));
  EXPECT_FALSE(RingMemory::open(::dup(made->descriptor()), 0));
  EXPECT_FALSE(RingMemory::open(-1, kRoom));
  EXPECT_NE(::ftruncate(made->descriptor(), 0), 0) << "it is sealed";

  const int loose = ::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(loose, 2 * (4096 + kRoom)), 0);
  EXPECT_FALSE(RingMemory::open(loose, kRoom));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_FALSE(RingMemory::open(ends[0], kRoom));
  ::close(ends[1]);
}

// Beyond the limit on files the kernel ends a process that has not looked.
TEST(RingMemories, AreNotMadeBeyondALimitAndSayWhich) {
  std::string why;
  {
    const LowLimit files(RLIMIT_FSIZE, kRoom);
    EXPECT_FALSE(RingMemory::make(kRoom, why));
  }
  EXPECT_NE(why.find("ulimit -f"), std::string::npos) << why;
  {
    const LowLimit descriptors(RLIMIT_NOFILE, 0);
    EXPECT_FALSE(RingMemory::make(kRoom, why));
  }
  EXPECT_EQ(why, std::strerror(EMFILE));
  EXPECT_TRUE(RingMemory::make(kRoom, why));
}

TEST(RingMemories, OfAllRanksOfAMachineStaySmall) {
  for (const int ranks : {129, 130, 1000, 100'000}) EXPECT_EQ(ring_bytes(ranks) > 0, ranks == 129) << ranks;
  for (const int ranks : {1, 2, 4, 16, 64, 128}) {
    EXPECT_GE(ring_bytes(ranks), 64U * 1024U);
    EXPECT_LE(ring_bytes(ranks) * static_cast<std::size_t>(std::max(ranks - 1, 1)), std::size_t{8} << 20U);
    EXPECT_LE(most_by_ring(ranks), std::size_t{1} << 20U);
  }
}

}  // namespace
}  // namespace tacit::test
