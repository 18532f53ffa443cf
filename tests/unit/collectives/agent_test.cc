// SPDX-License-Identifier: MIT
#include "collectives/agent.h"

#include <gtest/gtest.h>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr std::uint32_t kService = 7;

// Rank 0 doubles what rank 1 asks it to.
TEST(Caller, TicketsBeginAgainAndTwoOnALaneNeverShareOne) {
  InprocTestFabric fabric(2, test_limits());
  ThreadTasks tasks;
  const Agent agent(fabric.endpoint(0), tasks, {Tag::Lane::kTrain, kService},
                    [](const Call& call, const std::unique_ptr<Answer>& answer) {
                      const std::int64_t twice = 2 * call.step;
                      answer->send(std::as_bytes(std::span(&twice, 1)));
                    });
  // The next call but one of the first begins again; the second has made half as many, where halves of all numbers met.
  Caller even(fabric.endpoint(1), Tag::Lane::kTrain, Caller::Tickets::kEven, (1U << 31U) - 2);
  Caller odd(fabric.endpoint(1), Tag::Lane::kTrain, Caller::Tickets::kOdd, (1U << 30U) - 2);
  run_tasks(tasks, 2, [&](int which) {
    Caller& caller = which == 0 ? even : odd;
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::int64_t asked = 2 * i + which;
      std::int64_t got = 0;
      caller.call(0, kService, {.step = asked}, std::as_writable_bytes(std::span(&got, 1)));
      EXPECT_EQ(got, 2 * asked);
    }
  });
}

// A caller whose body comes when the agent has ended would otherwise wait for it to be given back for ever.
TEST(Agents, OneThatEndsGivesBackWhatItWasLent) {
  InprocTestFabric fabric(3, test_limits());
  ThreadTasks tasks;
  const Agent agent(fabric.endpoint(0), tasks, {Tag::Lane::kTrain, kService},
                    [](const Call&, const std::unique_ptr<Answer>&) { throw InvalidConfig("refused"); });
  const std::vector<std::byte> body(1 << 20);
  const RequestHeader header(RequestHeader::Kind::kPost, 4, {.body = body});
  Endpoint& slow = fabric.endpoint(1);
  slow.isend(0, {Tag::Channel::kRequest, Tag::Lane::kTrain, kService}, std::as_bytes(std::span(&header, 1)))
      ->wait();
  Caller(fabric.endpoint(2), Tag::Lane::kTrain).post(0, kService, {});  // which ends it
  for (int i = 0; i < 20'000 && slow.here(0); ++i) slow.clock().sleep(Seconds(0.001));
  ASSERT_FALSE(slow.here(0));
  const Request sending = slow.isend(0, {Tag::Channel::kRequestBody, Tag::Lane::kTrain, 4}, body);
  try {
    sending->wait();
  } catch (const PeerLost&) {  // or the body came just before the agent gave it back
  }
}

}  // namespace
}  // namespace tacit::test
