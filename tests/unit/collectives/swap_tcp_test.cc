// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/late_rank.h"
#include "support/tcp_fabric.h"

namespace tacit::test {
namespace {

TEST(SwapDeadline, HoldsOverTcpToo) {
  for (const bool share_memory : {false, true}) {
    TcpTestFabric fabric(LateRank::kRanks, test_limits(), {.share_memory = share_memory});
    OthersAhead ahead;
    run_ranks(LateRank::kRanks, [&](int rank) {
      ThreadTasks tasks;
      const auto comm = make_endpoint_comm(fabric.endpoint(rank), tasks, Tag::Lane::kTrain);
      swap_with_a_late_rank(*comm, ahead.plan(50));
    });
  }
}

}  // namespace
}  // namespace tacit::test
