// SPDX-License-Identifier: MIT
// Ranks that were started in a way that makes no job: with different options, or by two launchers.
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

TEST_F(Differing, ShardsAreRefused) {
  expect_refused("--model mlp --steps 5 --shards classes:4", "--model mlp --steps 5",
                 "--shards is classes:4 on ranks 0 and 2 and iid on rank 1");
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

TEST_F(Launch, ALauncherThatIsARankItselfIsRefused) {
  const auto under = [&](const std::string& variables) {
    return run("env " + variables + " '" TACIT_PROGRAM "' launch -n 2 -- true");
  };
  Result r = under("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err,
            "tacit: OMPI_COMM_WORLD_RANK=1 and OMPI_COMM_WORLD_SIZE=2: mpirun has started tacit launch 2 "
            "times, and "
            "each would start a job of its own; start the program itself with mpirun, or tacit launch once, "
            "without "
            "mpirun (with --hosts FILE for several machines)\n");
  for (const char* several :
       {"PMI_RANK=0 PMI_SIZE=3", "SLURM_STEP_ID=1 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4",
        "TACIT_RANK=0 TACIT_SIZE=2 TACIT_RENDEZVOUS=tcp://127.0.0.1:1",
        "RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1"}) {
    r = under(several);
    EXPECT_EQ(r.code, 2) << several;
    EXPECT_NE(r.err.find("each would start a job of its own"), std::string::npos) << several << r.err;
  }
  // A batch script, a step of one task, and variables that are half a launcher's.
  for (const char* alone : {"SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=7",
                            "SLURM_STEP_ID=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", "RANK=1 WORLD_SIZE=2"}) {
    r = under(alone);
    EXPECT_EQ(r.code, 0) << alone << r.err;
  }
}

}  // namespace
}  // namespace tacit::test
