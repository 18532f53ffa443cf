// SPDX-License-Identifier: MIT
// tacit simulate and tacit compare, as a user runs them.
#include <algorithm>
#include <fstream>
#include <utility>

#include "runlog/reader.h"
#include "support/program.h"

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
  for (const std::string strategy :
       {"ssgd", "dc_s3gd", "ssd:warmup=4,delay=3", "compskip:up=topk:ratio=0.1"}) {
    const auto simulated = json("simulate --json --strategy " + strategy + train_);
    const auto threads =
        json("train --workers 4 --json --model logistic --data synthetic:samples=960 --steps 20 " +
             std::string("--batch 10 --strategy ") + strategy);
    EXPECT_EQ(simulated["weights_hash"], threads["weights_hash"]) << strategy;
    EXPECT_EQ(simulated["bytes_payload"], threads["bytes_payload"]) << strategy;
  }
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

// An exchange that takes as long as a gradient is hidden behind it, and a step takes as long as one of them.
TEST_F(Simulate, WhatRunsBehindTheGradientIsHidden) {
  write("cluster.toml",
        "workers = 4\n[network]\nbandwidth = \"100Mbps\"\nlatency = \"10us\"\n[compute]\nstep = \"20ms\"\n");
  const std::string steps = " --cluster cluster.toml --cost-only --parameters 100000 --steps 20 --json";
  const auto seconds = [&](const std::string& strategy) {
    return json("simulate --strategy " + strategy + steps)["seconds"].get<double>();
  };
  const double computing = 20 * 0.020;
  const double in_turn = seconds("ssgd");
  EXPECT_LT(seconds("dc_s3gd"), std::max(computing, in_turn - computing) + 0.1 * in_turn);
  EXPECT_LT(seconds("ssd:warmup=0,delay=5"), 0.6 * seconds("ssgd:servers=4"));
}

TEST_F(Simulate, EvaluationsTakeNoVirtualTime) {
  write_cluster();
  const auto few = json("simulate --strategy local:period=7 --json" + train_);
  const auto many = json("simulate --strategy local:period=7 --evaluate-every 1 --json" + train_);
  EXPECT_DOUBLE_EQ(few["seconds"].get<double>(), many["seconds"].get<double>());
  EXPECT_EQ(few["weights_hash"], many["weights_hash"]);
}

// An evaluation needs the result of what dc_s3gd and ssd exchange behind the next gradient, and waits for it. That is
// no gift: it takes as long as it would have taken without, also for who computes, communicates and waits.
TEST_F(Simulate, EvaluationsHideNoExchangeAndUncoverNone) {
  write("cluster.toml",
        "workers = 4\n[network]\nbandwidth = \"1Gbps\"\nlatency = \"50us\"\n[compute]\nstep = "
        "\"5ms\"\njitter = 0.2\n");
  const std::string large =
      " --cluster cluster.toml --model mlp:hidden=256 --data synthetic:samples=960 --steps 20 --batch 10 "
      "--json";
  for (const auto& [strategy, tolerance] :
       {std::pair("dc_s3gd", 1e-6), std::pair("ssd:warmup=4,delay=3", 0.1)}) {
    const auto few = json("simulate --strategy " + (strategy + large));
    const auto many = json("simulate --evaluate-every 1 --strategy " + (strategy + large));
    const double seconds = few["seconds"];
    EXPECT_GT(seconds, 1.5 * few["compute_seconds"].get<double>()) << "there is something to hide";
    EXPECT_NEAR(many["seconds"].get<double>(), seconds, tolerance * seconds) << strategy;
    EXPECT_NEAR(many["compute_seconds"].get<double>(), few["compute_seconds"].get<double>(), 1e-9)
        << strategy;
    EXPECT_NEAR(many["communicate_seconds"].get<double>(), few["communicate_seconds"].get<double>(),
                0.1 * seconds);
    EXPECT_GT(few["communicate_seconds"].get<double>(), 3 * few["wait_seconds"].get<double>()) << few;
    EXPECT_EQ(many["weights_hash"], few["weights_hash"]) << strategy;
  }
}

TEST_F(Simulate, ATargetIsLookedForWhereItIsPassed) {
  write_cluster();
  const auto run = json("simulate --target 0.9 --evaluate-every 20 --out run --json" + train_);
  const RunRecord log = read_run_log(path("run/run.jsonl"));
  const auto reached = std::find_if(log.evaluations.begin(), log.evaluations.end(),
                                    [](const Evaluated& e) { return e.accuracy >= 0.9; });
  ASSERT_NE(reached, log.evaluations.end());
  ASSERT_NE(reached, log.evaluations.begin());
  EXPECT_LE(reached->step - (reached - 1)->step, 4);
  EXPECT_GE(run["target_seconds"].get<double>(), (reached - 1)->seconds);
  EXPECT_LE(run["target_seconds"].get<double>(), reached->seconds);
  EXPECT_EQ(run["target_seconds"], log.ended->target_seconds.value());
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
  for (const char* strategy :
       {"slowmo:period=4,buffers=average", "diloco:period=4", "dpsgd", "sgp:overlap"}) {
    const std::string how = std::string(" --strategy ") + strategy + " --json";
    const auto trained = json("simulate" + how + train_);
    const auto sized = json("simulate --cluster cluster.toml --steps 20 --cost-only --parameters " +
                            std::to_string(parameters) + how);
    EXPECT_EQ(sized["bytes_wire"], trained["bytes_wire"]) << strategy;
    EXPECT_EQ(sized["messages"], trained["messages"]) << strategy;
  }
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

TEST_F(Simulate, GossipAndWagmaGoOnWithoutTheRanksThatCrash) {
  for (const int rank : {0, 3})
    for (const char* strategy : {"gossip", "gossip:mode=push,push_sum", "wagma:period=4", "wagma:group=4"}) {
      write_cluster("[[crash]]\nrank = " + std::to_string(rank) + "\nat = \"210ms\"\n");
      const auto run =
          json("simulate --evaluate-every 5 --out kept --overwrite --json --strategy " + (strategy + train_));
      EXPECT_EQ(run["status"], "finished") << strategy;
      EXPECT_EQ(run["steps"], 20) << strategy;
      EXPECT_GT(run["accuracy"], 0.5) << strategy;
      ASSERT_EQ(run["lost"].size(), 1U) << strategy;
      EXPECT_EQ(run["lost"][0]["rank"], rank) << strategy;
      EXPECT_GT(run["lost"][0]["step"], 3) << strategy;
      const RunRecord log = read_run_log(path("kept/run.jsonl"));
      ASSERT_EQ(log.lost.size(), 1U) << strategy;
      EXPECT_EQ(log.lost[0].rank, rank);
      EXPECT_EQ(log.times.size(), 3U);
    }
}

TEST_F(Simulate, ACutLeavesOneSideThatFinishes) {
  write_cluster("[[cut]]\nfrom = [0, 2]\nto = [1, 3]\nat = \"100ms\"\n");
  for (const std::string strategy : {"gossip", "wagma:period=5"}) {
    const Result run = tacit("simulate --json --lost-after 0.1 --strategy " + strategy + train_);
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.err.find("finished: ranks 0 and 2; lost: ranks 1 and 3"), std::string::npos) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["lost"].size(), 2U);
  }
  const Result synchronous = tacit("simulate --lost-after 0.1" + train_);
  EXPECT_EQ(synchronous.code, 3) << synchronous.err;
  EXPECT_NE(synchronous.err.find("finished: nobody"), std::string::npos) << synchronous.err;
}

TEST_F(Simulate, FaultsByASeedAreTheSameAgain) {
  write_cluster();
  const auto run = [&](const std::string& faults) {
    const Result result =
        tacit("simulate --json --strategy gossip --lost-after 0.1 --faults " + faults + train_);
    const auto line = result.err.find("faults: ");
    EXPECT_NE(line, std::string::npos) << result.err;
    return result.out + result.err.substr(line);
  };
  EXPECT_EQ(run("seed=4,rate=120,for=500ms"), run("seed=4,rate=120,for=500ms"));
  EXPECT_NE(run("seed=4,rate=120,for=500ms"), run("seed=5,rate=120,for=500ms"));
  for (const std::string bad : {"--faults sede=4", "--faults rate=much", "--faults for=3", "--lost-after 0"})
    EXPECT_EQ(tacit("simulate " + bad + train_).code, 2) << bad;
}

TEST_F(Simulate, WhereEveryWorkerCrashesNobodyFinishes) {
  write_cluster("[[crash]]\nrank = 0\nat = \"30ms\"\n");
  const Result r = tacit("simulate --workers 1" + train_);
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("every worker crashes"), std::string::npos) << r.err;
}

TEST_F(Simulate, WhatCompressesNeedsContent) {
  write_cluster();
  expect_refusal("simulate --cluster cluster.toml --cost-only --model resnet50 --steps 3 --strategy compskip",
                 {"--cost-only", "compskip"});
}

// Servers and their optimisers too: five gigabytes of weights take no memory where there are none.
TEST_F(Simulate, CostOnlyServersHoldNothing) {
  write_cluster();
  for (const char* strategy : {"ssd:warmup=1", "ssgd:servers=4"})
    EXPECT_GT(json("simulate --json --cluster cluster.toml --cost-only --parameters 20000000000 --steps 3 "
                   "--strategy " +
                   std::string(strategy))["seconds"],
              1.0);
}

TEST_F(Simulate, CompareTellsStrategiesApart) {
  write_cluster();
  const auto table = json(
      "compare --strategies ssgd,local:period=5 --evaluate-every 2 --target 0.5 --out cmp --json" + train_);
  ASSERT_EQ(table["rows"].size(), 2U);
  EXPECT_EQ(table["rows"][0]["strategy"], "ssgd");
  EXPECT_EQ(table["rows"][0]["speed_up"], 1.0);
  EXPECT_GT(table["rows"][0]["bytes_per_worker"], table["rows"][1]["bytes_per_worker"]);
  EXPECT_TRUE(fs::exists(path("cmp/compare.json")));
  EXPECT_TRUE(fs::exists(path("cmp/local-period-5/run.jsonl")));
  const auto smaller = json("compare --strategies ssgd --compress onebit,ef --out less --json" + train_);
  EXPECT_LT(smaller["rows"][0]["bytes_per_worker"].get<double>(),
            0.5 * table["rows"][0]["bytes_per_worker"].get<double>());
}

TEST_F(Simulate, AnExperimentRunsEverythingWithEverySeed) {
  write_cluster();
  write("experiment.toml", R"(
title = "how far apart"
cluster = "cluster.toml"
workers = [2, 4]
model = "logistic"
data = "synthetic:samples=960"
steps = 20
batch = 10
seeds = [1, 2, 3]
target = 0.5
[[run]]
strategy = "ssgd"
[[run]]
strategy = "local:period=5"
name = "seldom"
lr = 0.05
)");
  const auto table = json("compare --experiment experiment.toml --out cmp --json");
  ASSERT_EQ(table["rows"].size(), 4U);
  EXPECT_EQ(table["rows"][1]["strategy"], "seldom");
  EXPECT_EQ(table["rows"][1]["workers"], 2);
  EXPECT_EQ(table["rows"][3]["workers"], 4);
  EXPECT_EQ(table["rows"][2]["speed_up"], 1.0);
  ASSERT_EQ(table["rows"][3]["runs"].size(), 3U);
  double sum = 0;
  for (const auto& run : table["rows"][3]["runs"]) sum += run["accuracy"].get<double>();
  EXPECT_NEAR(table["rows"][3]["accuracy"].get<double>(), sum / 3, 1e-9);
  EXPECT_EQ(read_run_log(path("cmp/seldom/workers-4/seed-3/run.jsonl")).started.lr, 0.05);
  // The same run by hand.
  const auto alone =
      json("simulate --workers 4 --seed 3 --strategy local:period=5 --lr 0.05 --target 0.5 --json" + train_);
  EXPECT_EQ(alone["trace_hash"], table["rows"][3]["runs"][2]["trace_hash"]);
  // What is given on the command line wins over the file.
  const auto other = json(
      "compare --experiment experiment.toml --out other --json --steps 4 --workers 3 --seeds 7 --lr 0.03");
  ASSERT_EQ(other["rows"].size(), 2U);
  EXPECT_EQ(other["rows"][0]["workers"], 3);
  const RunRecord run = read_run_log(path("other/ssgd/run.jsonl"));
  EXPECT_EQ(run.started.steps, 4);
  EXPECT_EQ(run.started.lr, 0.03);
  EXPECT_EQ(run.started.seed, 7U);
}

TEST_F(Simulate, ExperimentsThatCannotBeAreRefused) {
  write_cluster();
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    write("bad.toml", text);
    expect_refusal("compare --experiment bad.toml", words);
  };
  refused("cluster = \"cluster.toml\"\n", {"bad.toml", "[[run]]"});
  refused("cluster = \"cluster.toml\"\nepoch = 2\n[[run]]\nstrategy = \"ssgd\"\n", {"did you mean 'epochs'"});
  refused("cluster = \"none.toml\"\n[[run]]\nstrategy = \"ssgd\"\n", {"none.toml"});
  refused("cluster = \"cluster.toml\"\n[[run]]\nstrategy = \"sgsd\"\n", {"ssgd"});
  refused("cluster = \"cluster.toml\"\n[[run]]\nstrategy = \"ssgd\"\n[[run]]\nstrategy = \"ssgd\"\n",
          {"name of its own"});
  expect_refusal("compare --experiment none.toml", {"none.toml"});
  expect_refusal("compare --cluster cluster.toml --strategies ssgd --seeds 1,1", {"--seeds"});
  expect_refusal("compare", {"--experiment"});
}

TEST_F(Simulate, ARunThatGotWorseIsNoSuccess) {
  write_cluster();
  const Result run = tacit("simulate --lr 300 --out run" + train_);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.out.find("status          diverged"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("tacit: the run diverged: the loss rose"), std::string::npos) << run.err;
  EXPECT_EQ(nlohmann::json::parse(slurp(path("run/summary.json")))["status"], "diverged");
  const Result both =
      tacit("compare --strategies ssgd,local:period=5 --lr 300 --target 0.9 --out cmp" + train_);
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.out.find("diverged: the loss rose"), std::string::npos) << both.out;
  const auto table = nlohmann::json::parse(slurp(path("cmp/compare.json")));
  EXPECT_EQ(table["rows"][1]["speed_up"], nullptr);
  EXPECT_EQ(table["rows"][1]["runs"][0]["status"], "diverged");
}

TEST_F(Simulate, AnInterruptedComparisonShowsWhatIsThereAndGoesOnWithTheRest) {
  write_cluster();
  const std::string compare =
      "compare --strategies ssgd,local:period=2 --seeds 1,2 --jobs 1 --out cmp --target 0.5"
      " --cluster cluster.toml --model mlp --data synthetic:samples=960 --batch 10";
  const std::string steps = " --steps 150";
  // Interrupted as soon as the first run is in compare.json.
  write("interrupt.sh",
        "'" TACIT_PROGRAM "' " + compare + steps +
            " &\nuntil grep -q finished cmp/compare.json 2>/dev/null || ! kill -0 $!; do sleep 0.02; done\n"
            "kill -INT $!\nwait $!\n");
  const Result first = run("sh interrupt.sh");
  EXPECT_EQ(first.code, 130) << first.err;
  EXPECT_NE(first.out.find("ssgd"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("local:period=2 is missing with seed"), std::string::npos) << first.out;
  EXPECT_NE(first.err.find("The same command again"), std::string::npos) << first.err;
  const auto part = nlohmann::json::parse(slurp(path("cmp/compare.json")));
  EXPECT_EQ(part["complete"], false);
  EXPECT_EQ(part["rows"][0]["runs"][0]["status"], "finished");
  EXPECT_EQ(part["rows"][1]["runs"][1]["status"], "missing");

  const auto before = fs::last_write_time(path("cmp/ssgd/seed-1/run.jsonl"));
  const Result again = tacit(compare + steps);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("of 4 runs are picked up from cmp; --fresh repeats them"), std::string::npos)
      << again.err;
  EXPECT_EQ(again.out.find("missing"), std::string::npos) << again.out;
  EXPECT_EQ(fs::last_write_time(path("cmp/ssgd/seed-1/run.jsonl")), before);
  const auto whole = nlohmann::json::parse(slurp(path("cmp/compare.json")));
  EXPECT_EQ(whole["rows"][0]["runs"][0]["picked_up"], true);
  EXPECT_EQ(whole["rows"][1]["runs"][1]["picked_up"], false);
  EXPECT_EQ(whole["rows"][0]["runs"][0]["trace_hash"], part["rows"][0]["runs"][0]["trace_hash"]);

  // Nothing is left to do, nor to start; unless the cluster is another one, or all shall be repeated.
  EXPECT_NE(tacit(compare + steps).err.find("4 of 4 runs are picked up"), std::string::npos);
  const Result fresh = tacit(compare + " --steps 4 --fresh");
  EXPECT_EQ(fresh.err.find("picked up"), std::string::npos) << fresh.err;
  write_cluster("[[straggler]]\ncount = 1\ndelay = \"50ms\"\n");
  EXPECT_EQ(tacit(compare + " --steps 4 --overwrite").err.find("picked up"), std::string::npos);
}

TEST_F(Simulate, CompareRunsMoreStrategiesThanItMayAtATime) {
  write_cluster();
  const auto table = json(
      "compare --strategies ssgd,local:period=2,local:period=3,local:period=4,local:period=5,local:period=6 "
      "--jobs 2 --out cmp --json" +
      train_);
  ASSERT_EQ(table["rows"].size(), 6U);
  for (const auto& row : table["rows"])
    for (const auto& run : row["runs"]) EXPECT_EQ(run["status"], "finished") << run;
}

}  // namespace
}  // namespace tacit::test
