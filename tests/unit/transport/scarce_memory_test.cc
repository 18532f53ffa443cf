// SPDX-License-Identifier: MIT
// Memory that ends. A program of its own, because operator new is ours.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "schedules/scheduled_rank.h"
#include "support/memory_wire.h"

namespace {
// So many allocations succeed from now on, then one fails; negative: all succeed.
thread_local int left_to_succeed = -1;

void* allocate(std::size_t count) {
  if (left_to_succeed >= 0 && left_to_succeed-- == 0) throw std::bad_alloc();
  if (count > std::size_t{1} << 40U) throw std::bad_alloc();  // where a sanitizer's malloc ends the program
  if (void* memory = std::malloc(count == 0 ? 1 : count)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// Not inlined: where a compiler inlines the delete alone it sees free() on memory that came from operator new.
[[gnu::noinline]] void* operator new(std::size_t count) { return allocate(count); }
[[gnu::noinline]] void* operator new[](std::size_t count) { return allocate(count); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tacit::test {
namespace {

constexpr std::size_t kLarge = 20'000;
constexpr int kMostAllocations = 60;

// Does it while the allocation after so many fails. False: it needed no more than that.
template <class Do>
bool scarcely(int succeed, const Do& what) {
  left_to_succeed = succeed;
  try {
    what();
  } catch (const std::bad_alloc&) {
  }
  return std::exchange(left_to_succeed, -1) < 0;
}

class StillWaiter final : public Waiter {
 public:
  void wait(int, Tag, const std::atomic<bool>&) override {}
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void between_reads(int, const std::function<void()>& fn) override { fn(); }
};

TEST(ScarceMemory, DroppingAReceiveUnderWayNeverThrows) {
  bool homeless = false;
  for (int succeed = 0; succeed < kMostAllocations; ++succeed) {
    Ledger ledger(2, 0);
    StillWaiter waiter;
    Inbox inbox(0, ledger, waiter);
    const Tag tag = Lot{1, 0, 0}.wire_tag();
    std::vector<std::byte> into(kLarge);
    Request request = inbox.receive({1, tag, into, false});
    const auto message = inbox.announce(1, tag, kLarge, 0);
    message->received = kLarge / 2;
    const bool failed = scarcely(succeed, [&] { request.reset(); });
    EXPECT_EQ(message->homeless(), failed);
    homeless = homeless || message->homeless();
    if (!failed) break;
  }
  EXPECT_TRUE(homeless);
}

TEST(ScarceMemory, TheErrorSaysWhichMessageThereIsNoMemoryFor) {
  Ledger ledger(2, 0);
  StillWaiter waiter;
  Inbox inbox(0, ledger, waiter);
  try {
    inbox.announce(1, Lot{1, 0, 0}.wire_tag(), std::size_t{1} << 60U, 0);
    FAIL() << "there is memory for 2^60 bytes";
  } catch (const std::bad_alloc& error) {
    EXPECT_STREQ(
        error.what(),
        "rank 0 has no memory for a message of 1152921504606846976 bytes from rank 1 (exchange 0, part 0); "
        "give it more, or run fewer ranks on its machine");
  }
}

// Two ranks over memory that moves at once.
class TwoRanks {
 public:
  TwoRanks() {
    MemoryLink link(ranks_[0]->io(), ranks_[1]->io(), rng_);
    for (const std::size_t side : {0U, 1U}) {
      link.pipes[side]->window = 3'000;
      pipes_[side] = link.pipes[side];
      wires_[side] = link.wires[side].get();
      ranks_[side]->connect(
          1 - static_cast<int>(side),
          std::make_shared<Stream>(std::move(link.wires[side]), nullptr, Stream::Role::kServer), kLarge,
          false);
    }
  }
  ScheduledRank& operator[](std::size_t rank) { return *ranks_[rank]; }

  // Everything that can happen, or so many times; in which the allocations of both ranks may fail.
  bool run(int succeed, int most_steps) {
    bool failed = false;
    left_to_succeed = -1;
    for (int step = 0, idle = 0; step < most_steps && idle < 4; ++step) {
      const std::size_t side = static_cast<std::size_t>(step) % 2;
      if (pipes_[side]->moves()) pipes_[side]->move(1'000);
      for (const auto what : {Wire::Ready::kRead, Wire::Ready::kWrite})
        if (wires_[side]->waits_for(what) && wires_[side]->ready(what)) wires_[side]->tell(what);
      ranks_[side]->io().restart();
      std::size_t ran = 0;
      failed = scarcely(failed ? -1 : succeed, [&] { ran = ranks_[side]->io().poll(); }) || failed;
      idle = ran == 0 && !pipes_[0]->moves() && !pipes_[1]->moves() ? idle + 1 : 0;
    }
    return failed;
  }

 private:
  Rng rng_{1, 0, 0, Rng::Use::kData};
  std::array<std::unique_ptr<ScheduledRank>, 2> ranks_{
      std::make_unique<ScheduledRank>(0, 2, [] { return false; }),
      std::make_unique<ScheduledRank>(1, 2, [] { return false; })};
  std::array<std::shared_ptr<MemoryPipe>, 2> pipes_;
  std::array<MemoryWire*, 2> wires_{};
};

TEST(ScarceMemory, DroppingASendUnderWayEndsItOrTheConnection) {
  bool lost = false;
  for (int succeed = 0; succeed < kMostAllocations; ++succeed) {
    TwoRanks ranks;
    ranks[1].ask(0, 0, kLarge, false);
    ranks[0].send(1, 0, kLarge, false);  // more than the window
    const bool failed = scarcely(succeed, [&] { ranks[0].drop_sent(0); });
    ranks.run(-1, 1'000);
    lost = lost || ranks[0].lost(1) == 1;
    if (ranks[0].lost(1) == 0) {
      EXPECT_TRUE(ranks[1].finish_ready()) << succeed;
    }
    EXPECT_EQ(ranks[1].lost(0), ranks[0].lost(1)) << succeed;
    if (!failed) break;
  }
  EXPECT_TRUE(lost);
}

TEST(ScarceMemory, AMessageArrivesOrItsConnectionIsLostForAReason) {
  int losses = 0;
  for (int succeed = 0; succeed < kMostAllocations; ++succeed) {
    TwoRanks ranks;
    ranks[0].send(1, 0, kLarge, false);
    const bool failed = ranks.run(succeed, 1'000);
    ranks[1].ask(0, 0, kLarge, true);
    const bool lost = ranks[0].lost(1) + ranks[1].lost(0) > 0;
    losses += lost ? 1 : 0;
    EXPECT_TRUE(lost || ranks[1].finish_ready()) << succeed;
    if (!failed) break;
  }
  EXPECT_GT(losses, 0);
}

TEST(ScarceMemory, AStrangerThatSaysNothingCostsNextToNothing) {
  constexpr std::size_t kStrangers = 100;
  const TlsContext tls(JobKey::random(), "test");
  boost::asio::io_context io;
  Rng rng(1, 0, 0, Rng::Use::kData);
  std::vector<std::unique_ptr<Stream>> strangers;
  strangers.reserve(kStrangers);
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  for (std::size_t i = 0; i < kStrangers; ++i) {
    MemoryLink link(io, io, rng);
    strangers.push_back(std::make_unique<Stream>(std::move(link.wires[0]), &tls, Stream::Role::kServer));
    EXPECT_EQ(strangers.back()->handshake(), Stream::Result::kAgain);
  }
  const std::size_t after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  RecordProperty("bytes_each", static_cast<int>((after - before) / kStrangers));
  EXPECT_LT((after - before) / kStrangers, std::size_t{4'000});
}

}  // namespace
}  // namespace tacit::test
