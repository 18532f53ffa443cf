// SPDX-License-Identifier: MIT
// tacit simulate and tacit compare, as a user runs them.
#include <fstream>

#include "support/program.h"
#include "tacit/runlog/reader.h"

namespace tacit::test {
namespace {

class Simulate : public Cli {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  void write_cluster(const std::string& more = "") {
    write("cluster.toml",
          "workers = 4\n[network]\nbandwidth = \"1Gbps\"\nlatency = \"50us\"\n[compute]\nstep = "
          "\"20ms\"\njitter = 0.2\n" +
              more);
  }
  const std::string train_ =
      " --cluster cluster.toml --model logistic --data synthetic:samples=960 --steps 20 --batch 10";
};

TEST_F(Simulate, TheSameCommandTwiceGivesTheSameTrace) {
  write_cluster("[[straggler]]\ncount = 1\ndelay = \"50ms\"\n");
  const auto first = json("simulate --strategy local:period=4 --json" + train_);
  const auto again = json("simulate --strategy local:period=4 --json" + train_);
  const auto other = json("simulate --strategy local:period=4 --seed 2 --json" + train_);
  EXPECT_EQ(first["trace_hash"].get<std::string>().size(), 16U);
  EXPECT_EQ(first, again);
  EXPECT_NE(first["trace_hash"], other["trace_hash"]);
  EXPECT_EQ(first["world"], "simulated");
}

TEST_F(Simulate, LearnsWhatTheThreadsLearn) {
  write_cluster();
  const auto simulated = json("simulate --json" + train_);
  const auto threads =
      json("train --workers 4 --json --model logistic --data synthetic:samples=960 --steps 20 --batch 10");
  EXPECT_EQ(simulated["weights_hash"], threads["weights_hash"]);
  EXPECT_EQ(simulated["bytes_payload"], threads["bytes_payload"]);
}

TEST_F(Simulate, CompressedItLearnsWhatTheThreadsLearnWithoutAWarning) {
  write_cluster();
  for (const std::string more :
       {" --compress onebit,ef", " --strategy local:period=4 --compress topk:ratio=0.1,ef"}) {
    const Result simulated = tacit("simulate --json" + train_ + more);
    ASSERT_EQ(simulated.code, 0) << simulated.err;
    EXPECT_EQ(simulated.err, "") << "control messages take no virtual time: nothing can be said of the link";
    const auto a = nlohmann::json::parse(simulated.out);
    const auto b =
        json("train --workers 4 --json --model logistic --data synthetic:samples=960 --steps 20 --batch 10" +
             more);
    EXPECT_EQ(a["weights_hash"], b["weights_hash"]) << more;
    EXPECT_EQ(a["bytes_payload"], b["bytes_payload"]) << more;
    EXPECT_FALSE(a["compress"].get<std::string>().empty());
  }
}

TEST_F(Simulate, TheRunLogHasEveryRanksTimes) {
  write_cluster("[[straggler]]\nranks = [2]\nfactor = 3\n");
  ASSERT_EQ(tacit("simulate --out run" + train_).code, 0);
  const RunRecord run = read_run_log(path("run/run.jsonl"));
  ASSERT_EQ(run.times.size(), 4U);
  EXPECT_GT(run.times[2].compute, 1.5 * run.times[0].compute);
  EXPECT_GT(run.times[0].wait, run.times[2].wait);
  for (const RankTimes& each : run.times)
    EXPECT_NEAR(each.compute + each.communicate + each.wait, run.ended->seconds, 0.1 * run.ended->seconds);
}

TEST_F(Simulate, EvaluationsTakeNoVirtualTime) {
  write_cluster();
  const auto few = json("simulate --strategy local:period=7 --json" + train_);
  const auto many = json("simulate --strategy local:period=7 --evaluate-every 1 --json" + train_);
  EXPECT_DOUBLE_EQ(few["seconds"].get<double>(), many["seconds"].get<double>());
  EXPECT_EQ(few["weights_hash"], many["weights_hash"]);
}

TEST_F(Simulate, CostOnlyHasTheMessagesOfARealRun) {
  write_cluster();
  const std::string sizes = "simulate --cluster cluster.toml --strategy local:period=4 --steps 20 --json";
  const auto real = json("simulate --strategy local:period=4 --json" + train_);
  ASSERT_EQ(tacit("simulate --strategy local:period=4 --out real" + train_).code, 0);
  const auto parameters = read_run_log(path("real/run.jsonl")).started.parameters;
  const auto cost = json(sizes + " --cost-only --parameters " + std::to_string(parameters));
  EXPECT_EQ(cost["bytes_wire"], real["bytes_wire"]);
  EXPECT_EQ(cost["messages"], real["messages"]);
  EXPECT_NEAR(cost["seconds"].get<double>(), real["seconds"].get<double>(), 1e-9);
}

TEST_F(Simulate, RefusesWhatCannotBe) {
  write_cluster();
  write("bad.toml", "workers = 4\nlatncy = 1\n");
  expect_refusal("simulate --cluster bad.toml", {"unknown key 'latncy'"});
  expect_refusal("simulate --cluster none.toml", {"none.toml"});
  expect_refusal("simulate --cluster cluster.toml --cost-only --model resnet50", {"--steps"});
  expect_refusal("simulate --cluster cluster.toml --cost-only --steps 3 --model resnet5", {"resnet50"});
  expect_refusal(
      "simulate --cluster cluster.toml --cost-only --steps 3 --model resnet50 --compress onebit,ef",
      {"--cost-only", "onebit,ef"});
  expect_refusal("compare --cluster cluster.toml --strategies ssgd,local --optimizer sgd --compress topk,dgc",
                 {"local", "dgc"});
  expect_refusal("simulate --cluster cluster.toml --strategy sgsd", {"ssgd"});
  expect_refusal("compare --cluster cluster.toml --strategies ssgd,lokal", {"did you mean 'local'"});
  expect_refusal("compare --cluster cluster.toml --strategies ssgd --target 88", {"0.88"});
}

TEST_F(Simulate, ACrashEndsASynchronousRunAsALostPeerDoes) {
  write_cluster("[[crash]]\nrank = 3\nat = \"200ms\"\n");
  const Result r = tacit("simulate --quiet" + train_);
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_NE(r.err.find("lost rank 3: it crashed at 0.2"), std::string::npos) << r.err;
}

TEST_F(Simulate, CompareTellsStrategiesApart) {
  write_cluster();
  const auto table = json(
      "compare --strategies ssgd,local:period=5 --evaluate-every 2 --target 0.5 --out cmp --json" + train_);
  ASSERT_EQ(table["runs"].size(), 2U);
  EXPECT_EQ(table["runs"][0]["strategy"], "ssgd");
  EXPECT_EQ(table["runs"][0]["speed_up"], 1.0);
  EXPECT_GT(table["runs"][0]["bytes_per_worker"], table["runs"][1]["bytes_per_worker"]);
  EXPECT_TRUE(fs::exists(path("cmp/compare.json")));
  EXPECT_TRUE(fs::exists(path("cmp/local-period-5/run.jsonl")));
  const auto smaller = json("compare --strategies ssgd --compress onebit,ef --out less --json" + train_);
  EXPECT_LT(smaller["runs"][0]["bytes_per_worker"].get<double>(),
            0.5 * table["runs"][0]["bytes_per_worker"].get<double>());
}

TEST_F(Simulate, CompareRunsMoreStrategiesThanItMayAtATime) {
  write_cluster();
  const auto table = json(
      "compare --strategies ssgd,local:period=2,local:period=3,local:period=4,local:period=5,local:period=6 "
      "--jobs 2 --out cmp --json" +
      train_);
  ASSERT_EQ(table["runs"].size(), 6U);
  for (const auto& run : table["runs"]) EXPECT_EQ(run["error"], "") << run;
}

}  // namespace
}  // namespace tacit::test
