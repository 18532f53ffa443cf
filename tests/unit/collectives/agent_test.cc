// SPDX-License-Identifier: MIT
#include "collectives/agent.h"

#include <gtest/gtest.h>

#include "support/on_every_rank.h"

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

}  // namespace
}  // namespace tacit::test
