// SPDX-License-Identifier: MIT
// Tasks, the channel between them, and the two small headers beside them: hashes and errors.
#include "tacit/core/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/hash.h"
#include "core/snapshot.h"
#include "tacit/core/buffer.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr Seconds kLong{60};  // a deadline that only a hang reaches

TEST(ThreadTasks, JoinWaitsForTheBody) {
  ThreadTasks tasks;
  Channel<int> go(tasks);
  int result = 0;
  const auto task = tasks.spawn("body", [&] { result = go.get(); });
  go.put(5);
  task->join();
  EXPECT_EQ(result, 5);
}

TEST(ThreadTasks, TheBodyRunsOnAThreadOfItsOwn) {
  ThreadTasks tasks;
  std::thread::id id;
  const auto task =
      tasks.spawn("a name that is longer than Linux keeps", [&] { id = std::this_thread::get_id(); });
  task->join();
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(ThreadTasks, JoinRethrowsWhatTheBodyThrewOnce) {
  ThreadTasks tasks;
  const auto task = tasks.spawn("thrower", [] { throw Timeout("too late"); });
  try {
    task->join();
    FAIL() << "join did not throw";
  } catch (const Timeout& error) {
    EXPECT_STREQ(error.what(), "too late");
  }
  EXPECT_NO_THROW(task->join());
}

TEST(ThreadTasks, JoiningTwiceIsFine) {
  ThreadTasks tasks;
  std::atomic<int> runs = 0;
  const auto task = tasks.spawn("twice", [&] { ++runs; });
  task->join();
  task->join();
  EXPECT_EQ(runs, 1);
}

TEST(ThreadTasks, TheDestructorJoins) {
  ThreadTasks tasks;
  Channel<int> go(tasks);
  std::atomic<bool> ended = false;
  {
    const auto task = tasks.spawn("dropped", [&] {
      go.get();
      ended = true;
    });
    go.put(1);
  }
  EXPECT_TRUE(ended);
}

TEST(ThreadTasks, TheDestructorSwallowsWhatTheBodyThrew) {
  ThreadTasks tasks;
  std::atomic<bool> threw = false;
  tasks.spawn("dropped", [&] {
    threw = true;
    throw std::runtime_error("nobody asks");
  });
  EXPECT_TRUE(threw);
}

TEST(Channel, ValuesComeOutInTheOrderTheyWentIn) {
  ThreadTasks tasks;
  Channel<int> channel(tasks);
  for (int i = 0; i < 100; ++i) channel.put(i);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(channel.get(), i);
}

TEST(Channel, GetWaitsForAPut) {
  ThreadTasks tasks;
  Channel<int> question(tasks);
  Channel<int> answer(tasks);
  std::atomic<bool> put = false;
  bool came_after_put = false;
  const auto task = tasks.spawn("getter", [&] {
    answer.put(0);  // about to wait
    const int value = question.get();
    came_after_put = put;
    answer.put(value + 1);
  });
  answer.get();
  EXPECT_EQ(answer.try_get(), std::nullopt);
  put = true;
  question.put(41);
  EXPECT_EQ(answer.get(), 42);
  task->join();
  EXPECT_TRUE(came_after_put);
}

TEST(Channel, TryGetTakesWhatIsThereAndDoesNotWait) {
  ThreadTasks tasks;
  Channel<std::string> channel(tasks);
  EXPECT_EQ(channel.try_get(), std::nullopt);
  channel.put("a");
  channel.put("b");
  EXPECT_EQ(channel.try_get(), "a");
  EXPECT_EQ(channel.try_get(), "b");
  EXPECT_EQ(channel.try_get(), std::nullopt);
}

TEST(Channel, GetUntilGivesNothingOnceTheDeadlineHasPassed) {
  ThreadTasks tasks;
  Channel<int> channel(tasks);
  const Deadline deadline = tasks.clock().now() + Seconds(0.02);
  EXPECT_EQ(channel.get_until(deadline), std::nullopt);
  EXPECT_GE(tasks.clock().now(), deadline);  // not before it
  EXPECT_EQ(channel.get_until(Deadline(0)), std::nullopt);
}

TEST(Channel, GetUntilGivesAValueThatIsThereEvenAfterTheDeadline) {
  ThreadTasks tasks;
  Channel<int> channel(tasks);
  channel.put(3);
  EXPECT_EQ(channel.get_until(Deadline(0)), 3);
}

TEST(Channel, GetUntilGivesAValueThatComesBeforeTheDeadline) {
  ThreadTasks tasks;
  Channel<int> channel(tasks);
  Channel<int> waiting(tasks);
  const auto task = tasks.spawn("putter", [&] {
    waiting.get();
    channel.put(9);
    waiting.get();
    channel.put(10);
  });
  waiting.put(0);
  EXPECT_EQ(channel.get_until(tasks.clock().now() + kLong), 9);
  waiting.put(0);
  EXPECT_EQ(channel.get_until(kNever), 10);
  task->join();
}

TEST(Channel, CarriesValuesThatCanOnlyBeMoved) {
  ThreadTasks tasks;
  Channel<std::unique_ptr<int>> channel(tasks);
  channel.put(std::make_unique<int>(8));
  EXPECT_EQ(*channel.get(), 8);
}

TEST(Channel, ManyProducersLoseNothingAndKeepTheirOrder) {
  constexpr int kProducers = 6;
  constexpr int kEach = 2000;
  struct Item {
    int producer;
    int number;
  };
  ThreadTasks tasks;
  Channel<Item> channel(tasks);
  std::vector<std::unique_ptr<Task>> producers;
  for (int p = 0; p < kProducers; ++p)
    producers.push_back(tasks.spawn("producer", [&channel, p] {
      for (int i = 0; i < kEach; ++i) channel.put({p, i});
    }));
  std::vector<int> next(kProducers, 0);
  for (int i = 0; i < kProducers * kEach; ++i) {
    const Item item = channel.get();
    EXPECT_EQ(item.number, next[static_cast<std::size_t>(item.producer)]++);
  }
  for (const auto& producer : producers) producer->join();
  EXPECT_FALSE(channel.try_get().has_value());
  for (const int n : next) EXPECT_EQ(n, kEach);
}

std::uint64_t hash_of(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

// The test vectors of the FNV reference code.
TEST(Hash, IsFnv1aOver64Bits) {
  EXPECT_EQ(hash_of(""), 0xCBF29CE484222325ULL);
  EXPECT_EQ(hash_of("a"), 0xAF63DC4C8601EC8CULL);
  EXPECT_EQ(hash_of("foobar"), 0x85944171F73967E8ULL);
}

TEST(Hash, GoesOnFromAnEarlierHash) {
  const std::string_view rest = "bar";
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(rest)), hash_of("foo")), hash_of("foobar"));
}

TEST(Hash, TextIsSixteenHexDigits) {
  EXPECT_EQ(hash_text(0x85944171F73967E8ULL), "85944171f73967e8");
  EXPECT_EQ(hash_text(0x2A), "000000000000002a");
  EXPECT_EQ(hash_text(0), "0000000000000000");
  EXPECT_EQ(hash_text(~std::uint64_t{0}), "ffffffffffffffff");
}

TEST(Errors, AFailedCheckIsABugWithFileLineAndCondition) {
  int line = 0;
  try {
    line = __LINE__ + 1;
    TACIT_CHECK(1 + 1 == 3, "sums are wrong");
    FAIL() << "the check did not throw";
  } catch (const Bug& bug) {
    const std::string message = bug.what();
    EXPECT_EQ(message.find("tasks_test.cc:" + std::to_string(line) + ": sums are wrong"), 0U) << message;
    EXPECT_NE(message.find("1 + 1 == 3"), std::string::npos) << message;
  }
}

TEST(Snapshot, AReaderSeesOneWholeVersionAndNeverAnOlderOneThanBefore) {
  constexpr std::int64_t kVersions = 2000;
  ThreadTasks tasks;
  std::vector<float> x(3000);
  Snapshot newest(tasks, x);
  EXPECT_EQ(newest.latest(), nullptr);
  newest.publish(x, 0);
  const auto read = [&] {
    for (std::int64_t seen = 0; seen < kVersions;) {
      const auto copy = newest.latest();
      ASSERT_GE(copy->version, seen);
      seen = copy->version;
      for (const float v : copy->x.view().host()) ASSERT_EQ(v, static_cast<float>(seen));
    }
  };
  const auto one = tasks.spawn("reader", read);
  const auto two = tasks.spawn("reader", read);
  for (std::int64_t version = 1; version <= kVersions; ++version) {
    std::fill(x.begin(), x.end(), static_cast<float>(version));
    newest.publish(x, version);
  }
  one->join();
  two->join();
}

TEST(Errors, APassedCheckDoesNothingAndDoesNotBuildItsMessage) {
  int messages = 0;
  const auto message = [&] {
    ++messages;
    return std::string("never");
  };
  EXPECT_NO_THROW(TACIT_CHECK(messages == 0, message()));
  EXPECT_EQ(messages, 0);
}

TEST(Errors, PeerLostNamesBothRanksAndTheReason) {
  const PeerLost error(3, 5, "connection reset");
  EXPECT_STREQ(error.what(), "rank 3 lost rank 5: connection reset");
  EXPECT_EQ(error.rank, 3);
  EXPECT_EQ(error.peer, 5);
}

TEST(Errors, DivergedNamesRankAndStep) {
  const Diverged error(2, 5'000'000'000, "the loss is nan");
  EXPECT_STREQ(error.what(), "rank 2, step 5000000000: the loss is nan");
  EXPECT_EQ(error.rank, 2);
  EXPECT_EQ(error.step, 5'000'000'000);
}

TEST(Errors, ABugIsNoError) {
  static_assert(std::is_base_of_v<Error, InvalidConfig> && std::is_base_of_v<Error, PeerLost>);
  static_assert(std::is_base_of_v<Error, Timeout> && std::is_base_of_v<Error, Mismatch>);
  static_assert(!std::is_base_of_v<Error, Bug>);
  EXPECT_THROW(fail_check("f.cc", 1, "false", "why"), std::logic_error);
}

}  // namespace
}  // namespace tacit
