// SPDX-License-Identifier: MIT
#include "tacit/world/agreement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"
#include "world/backend.h"

namespace tacit::test {
namespace {

// What every rank was refused with; empty where it was not.
std::vector<std::string> refusals(int ranks, const std::function<std::vector<Setting>(int rank)>& settings) {
  std::vector<std::string> what(static_cast<std::size_t>(ranks));
  on_every_comm(ranks, [&](Comm& comm) {
    try {
      agree(comm, settings(comm.rank()));
    } catch (const InvalidConfig& error) {
      what[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  return what;
}

TEST(Agreement, RanksThatWereToldTheSameGoOn) {
  for (const int ranks : {1, 2, 3, 5, 8})
    EXPECT_EQ(refusals(ranks,
                       [](int) {
                         return std::vector<Setting>{{"--lr", "0.01"}, {"--seed", "1"}};
                       }),
              std::vector<std::string>(static_cast<std::size_t>(ranks)));
  EXPECT_EQ(refusals(4, [](int) { return std::vector<Setting>{}; }), std::vector<std::string>(4));
}

TEST(Agreement, ADifferenceIsNamedAlikeOnEveryRank) {
  const auto what = refusals(4, [](int rank) {
    return std::vector<Setting>{{"--strategy", "ssgd"}, {"--lr", rank == 1 ? "0.02" : "0.01"}};
  });
  EXPECT_EQ(what, std::vector<std::string>(
                      4, "--lr is 0.01 on ranks 0, 2 and 3 and 0.02 on rank 1; give every rank the same"));
}

TEST(Agreement, EveryRankWithAValueOfItsOwnIsHeard) {
  const auto what = refusals(3, [](int rank) {
    return std::vector<Setting>{{"--seed", std::to_string(rank)}};
  });
  EXPECT_EQ(what[0], "--seed is 0 on rank 0, 1 on rank 1 and 2 on rank 2; give every rank the same");
  EXPECT_EQ(what, std::vector<std::string>(3, what[0]));
}

TEST(Agreement, AMeanThatOneRankHasHidesNothing) {
  // The hashes of no values but these add up so; what counts is that the rank in the middle objects with the others.
  for (int seed = 0; seed < 50; ++seed) {
    const auto what = refusals(3, [&](int rank) {
      return std::vector<Setting>{{"x", std::to_string(3 * seed + rank)}};
    });
    for (const std::string& each : what) EXPECT_EQ(each, what[0]);
    EXPECT_NE(what[0], "");
  }
}

TEST(Agreement, WhatARankWasNotGivenIsADifference) {
  const auto what = refusals(2, [](int rank) {
    std::vector<Setting> settings{{"--batch", "8"}, {"--steps", rank == 0 ? "5" : ""}};
    if (rank == 1) settings.push_back({"--target", "0.9"});
    return settings;
  });
  EXPECT_EQ(what[1],
            "--steps is 5 on rank 0 and not given on rank 1; --target is not given on rank 0 and 0.9 on rank "
            "1; give "
            "every rank the same");
  EXPECT_EQ(what[0], what[1]);
}

TEST(Agreement, ManyDifferencesOfManyRanksFitIntoOneLine) {
  const auto what = refusals(17, [](int rank) {
    std::vector<Setting> settings;
    for (int i = 0; i < 40; ++i)
      settings.push_back(
          {"tensor " + std::to_string(i), std::string(1000, 'a') + "\n" + std::to_string(rank)});
    return settings;
  });
  for (const std::string& each : what) {
    EXPECT_EQ(each, what[0]);
    EXPECT_LT(each.size(), 5000U);
    EXPECT_EQ(each.find('\n'), std::string::npos);
  }
  EXPECT_NE(what[0].find("17 values in all"), std::string::npos) << what[0];
  EXPECT_NE(what[0].find("34 more settings differ"), std::string::npos) << what[0];
}

// One rank's way into an InprocFabric.
class ThreadAsProcess final : public Fabric {
 public:
  ThreadAsProcess(InprocFabric& all, int rank) : all_(all), rank_(rank) {}
  Endpoint& endpoint() override { return all_.endpoint(rank_); }
  void leave(const Departure& how) override {
    left = how;
    all_.leave(rank_, how.failed ? InprocFabric::Leave::kFailed : InprocFabric::Leave::kDone, how.why);
  }
  std::exception_ptr cause() override { return all_.cause(rank_); }
  void interrupt() override { all_.interrupt(); }
  Departure left;

 private:
  InprocFabric& all_;
  const int rank_;
};

TEST(Agreement, RanksThatDifferInHowTheyTalkLearnItBeforeTheyTalkSo) {
  for (const bool named : {false, true}) {
    InprocFabric all(3, test_limits());
    run_ranks(3, [&](int rank) {
      ThreadAsProcess fabric(all, rank);
      WorldOptions options;
      options.survive = rank == 2;
      if (named) options.settings = {{"--strategy", rank == 2 ? "gossip" : "ssgd"}};
      try {
        agree_on_options(fabric, options);
        ADD_FAILURE() << "rank " << rank << " was not refused";
      } catch (const InvalidConfig& error) {
        // What the user gave explains what follows from it.
        EXPECT_EQ(std::string(error.what()),
                  std::string(named ? "--strategy is ssgd on ranks 0 and 1 and gossip on rank 2"
                                    : "WorldOptions::survive is false on ranks 0 and 1 and true on rank 2") +
                      "; give every rank the same");
        EXPECT_TRUE(fabric.left.failed);
      }
    });
  }
}

}  // namespace
}  // namespace tacit::test
