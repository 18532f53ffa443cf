// SPDX-License-Identifier: MIT
// Runs that are saved, killed and gone on with, as a user does it.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "support/launch.h"
#include "support/program.h"
#include "support/whole_files.h"

namespace tacit::test {
namespace {

const std::string kQuick =
    " --data synthetic:samples=320,test=64,size=8,noise=0.1 --model mlp:hidden=8 --batch 8 ";

class CheckpointCli : public Cli {
 protected:
  std::string hash(const std::string& args) { return json(args + " --json").at("weights_hash"); }
};

TEST_F(CheckpointCli, TheModelIsLeftEvaluatedAndBegunWith) {
  const auto run = json("train --workers 2 --epochs 2 --out run --json" + kQuick);
  const auto score = json("evaluate run --data synthetic:samples=320,test=64,size=8,noise=0.1 --json");
  EXPECT_EQ(score.at("model"), "mlp:hidden=8");
  EXPECT_NEAR(score.at("accuracy").get<double>(), run.at("accuracy").get<double>(), 1e-9);
  EXPECT_NEAR(score.at("test_loss").get<double>(), run.at("test_loss").get<double>(), 1e-5);
  EXPECT_NE(tacit("evaluate run/model.safetensors --data synthetic:samples=320,test=64,size=8,noise=0.1")
                .out.find("test accuracy"),
            std::string::npos);
  const double loss =
      json("train --workers 2 --steps 1 --lr 1e-9 --init run/model.safetensors --json" + kQuick)
          .at("test_loss");
  EXPECT_NEAR(loss, run.at("test_loss").get<double>(), 1e-4);
  expect_refusal("evaluate run --data fashion-mnist", {"1 x 8 x 8", "1 x 28 x 28"});
  expect_refusal("evaluate none --data fashion-mnist", {"none is missing"});
  expect_refusal("train --init run/summary.json" + kQuick, {"run/summary.json", "safetensors"});
  expect_refusal(
      "train --init run/model.safetensors --data synthetic:samples=320,test=64,size=8 --model mlp:hidden=9",
      {"hidden.weight", "8 x 64", "9 x 64"});
}

TEST_F(CheckpointCli, AModelThatCannotBeWrittenIsAFailureAndTheRunIsAccountedFor) {
  const Result r =
      run("sh -c \"ulimit -f 4; exec '" TACIT_PROGRAM "' train --steps 5 --quiet --out o" + kQuick + "\"");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("model.safetensors"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("File too large"), std::string::npos) << r.err;
  EXPECT_EQ(nlohmann::json::parse(slurp(path("o/summary.json"))).at("status"), "finished");
  EXPECT_FALSE(fs::exists(path("o/model.safetensors")));
}

TEST_F(CheckpointCli, ARunGoesOnWithItsOwnOptionsAndInItsOwnLog) {
  const std::string whole = hash("train --workers 3 --epochs 3 --strategy local:period=3 --lr 0.05" + kQuick);
  EXPECT_EQ(
      hash("train --workers 3 --epochs 3 --strategy local:period=3 --lr 0.05 --out run --checkpoint saved "
           "--checkpoint-every 7" +
           kQuick),
      whole);
  EXPECT_EQ(hash("train --resume saved/step-000000000028 --workers 3 --out run"), whole);
  const std::string log = slurp(path("run/run.jsonl"));
  EXPECT_NE(log.find("run_resumed"), std::string::npos);
  EXPECT_EQ(log.find("run_started", log.find("run_started") + 1), std::string::npos);
  EXPECT_EQ(hash("train --resume auto --checkpoint saved --checkpoint-every 7 --workers 3"), whole);
  EXPECT_EQ(hash("train --resume auto --checkpoint fresh --workers 3 --epochs 3 --strategy local:period=3 "
                 "--lr 0.05" +
                 kQuick),
            whole);
  const Result fewer = tacit("train --resume saved --workers 2");
  EXPECT_EQ(fewer.code, 0) << fewer.err;
  EXPECT_NE(fewer.err.find("of 3 ranks and this run has 2"), std::string::npos) << fewer.err;
}

TEST_F(CheckpointCli, WhatMakesNoSenseIsRefusedInOneLine) {
  ASSERT_EQ(tacit("train --workers 2 --steps 20 --checkpoint saved --checkpoint-every 8" + kQuick).code, 0);
  expect_refusal("train --workers 2 --resume saved --lr 0.1 --seed 3",
                 {"--lr is 0.1 and was 0.02", "--seed is 3 and was 1", "--init"});
  expect_refusal("train --workers 2 --resume saved --shards classes:5",
                 {"--shards is classes:5 and was iid"});
  expect_refusal("train --workers 2 --resume saved --steps 10", {"16 steps done", "nothing is left"});
  expect_refusal("train --workers 2 --resume none", {"none is missing", "--checkpoint"});
  expect_refusal("train --workers 2 --checkpoint saved" + kQuick,
                 {"another run", "step 16", "--resume saved", "--overwrite"});
  expect_refusal("train --checkpoint-every 8" + kQuick, {"--checkpoint-every without --checkpoint"});
  expect_refusal("train --checkpoint c --checkpoint-every 0" + kQuick, {"--checkpoint-every 0", "10min"});
  expect_refusal("train --checkpoint c --keep 0" + kQuick, {"--keep 0", "1 to 64"});
  expect_refusal("train --checkpoint /proc/none" + kQuick, {"/proc/none", "--checkpoint"});
  expect_refusal("train --resume auto" + kQuick, {"--resume auto without --checkpoint"});
  expect_refusal("train --resume saved --init x", {"--init with --resume"});
  put(path("saved/step-000000000016/rank-1.state"), "short");
  expect_refusal("train --workers 2 --resume saved", {"rank-1.state has 5 bytes", "cut short"});
  put(path("saved/step-000000000016/manifest.json"), "{");
  expect_refusal("train --workers 2 --resume saved", {"manifest.json", "damaged"});
  EXPECT_EQ(tacit("train --workers 2 --checkpoint saved --overwrite --steps 2" + kQuick).code, 0);
}

// Some kills of what bench/kill_and_resume does hundreds of times.
TEST_F(CheckpointCli, ProcessesThatAreKilledGoOnFromTheLastWholeOne) {
  const std::string job = "train --strategy ssd:delay=3 --steps 1500 --quiet" + kQuick;
  const auto end_of = [&](const std::string& more) {
    const Result r = tacit("launch -n 3 '" TACIT_PROGRAM "' " + job + more + " --out run --overwrite");
    EXPECT_EQ(r.code, 0) << r.err;
    return nlohmann::json::parse(slurp(path("run/summary.json"))).at("weights_hash").get<std::string>();
  };
  const std::string whole = end_of("");
  const std::string saved = " --checkpoint saved --checkpoint-every 40 --resume auto ";
  int killed = 0;
  for (int milliseconds : {400, 700}) {
    Started run(path("."),
                {"/bin/sh", "-c", "exec '" TACIT_PROGRAM "' launch -n 3 '" TACIT_PROGRAM "' " + job + saved});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    run.signal(SIGKILL);
    killed += run.wait() == 128 + SIGKILL ? 1 : 0;
  }
  EXPECT_EQ(end_of(saved), whole) << killed << " were killed";
  std::size_t left = 0;
  for (const auto& each : fs::directory_iterator(path("saved")))
    left += each.path().filename().string().front() == '.' ? 1U : 0U;
  EXPECT_EQ(left, 0U) << "drafts";
}

}  // namespace
}  // namespace tacit::test
