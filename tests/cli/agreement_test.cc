// SPDX-License-Identifier: MIT
// Ranks that were started with different options.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace tacit::test {
namespace {

class Differing : public Launch {
 protected:
  // Three ranks, of which rank 1 has other options than the others: all are refused with these words, before anything is
  // trained.
  void expect_refused(const std::string& options, const std::string& of_rank_one, const std::string& words) {
    ranks_do("set -- " + options + "\n[ $TACIT_RANK = 1 ] && set -- " + of_rank_one +
             "\nexec '" TACIT_PROGRAM "' train --data synthetic --batch 8 --quiet \"$@\"");
    const Result r = tacit("launch -n 3 --grace 50 -- ./rank");
    EXPECT_EQ(r.code, 2) << options << "\n" << r.err;
    for (const char* rank : {"[0] ", "[1] ", "[2] "})
      EXPECT_NE(r.err.find(rank + ("tacit: " + words + "; give every rank the same\n")), std::string::npos)
          << options << "\n"
          << r.err;
    EXPECT_EQ(r.out, "") << options;
  }
};

TEST_F(Differing, LearningRatesAreRefused) {
  expect_refused("--model mlp --steps 5 --lr 0.01", "--model mlp --steps 5 --lr 0.02",
                 "--lr is 0.01 on ranks 0 and 2 and 0.02 on rank 1");
}

TEST_F(Differing, NumbersOfStepsAreRefused) {
  expect_refused("--model mlp --steps 5", "--model mlp --steps 10",
                 "--steps is 5 on ranks 0 and 2 and 10 on rank 1");
  expect_refused(
      "--model mlp --steps 5", "--model mlp --epochs 2",
      "--epochs is not given on ranks 0 and 2 and 2 on rank 1; --steps is 5 on ranks 0 and 2 and not "
      "given on rank 1");
}

TEST_F(Differing, StrategiesAreRefusedWhetherTheyGoOnWithoutRanksOrNot) {
  expect_refused("--model mlp --steps 5 --strategy ssgd", "--model mlp --steps 5 --strategy local:period=2",
                 "--strategy is ssgd on ranks 0 and 2 and local:period=2 on rank 1");
  expect_refused("--model mlp --steps 5 --strategy gossip", "--model mlp --steps 5 --strategy dc_s3gd",
                 "--strategy is gossip on ranks 0 and 2 and dc_s3gd on rank 1");
}

TEST_F(Differing, SeedsAndCompressorsAreRefused) {
  expect_refused(
      "--model mlp --steps 5 --seed 1", "--model mlp --steps 5 --seed 2 --compress fp16",
      "--compress is not given on ranks 0 and 2 and fp16 on rank 1; --seed is 1 on ranks 0 and 2 and 2 on "
      "rank 1");
}

TEST_F(Differing, ModelsAreRefusedBeforeTheyAreMade) {
  expect_refused("--model mlp --steps 5", "--model mlp:hidden=7 --steps 5",
                 "--model is mlp on ranks 0 and 2 and mlp:hidden=7 on rank 1");
}

TEST_F(Differing, WhatIsShownAndWhereItIsWrittenMayDiffer) {
  ranks_do(
      "set --\n[ $TACIT_RANK = 1 ] && set -- --quiet --log-every 3 --out elsewhere --timeout 900\nexec "
      "'" TACIT_PROGRAM "' train --model mlp --data synthetic --batch 8 --steps 5 \"$@\"");
  const Result r = tacit("launch -n 3 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
}

}  // namespace
}  // namespace tacit::test
