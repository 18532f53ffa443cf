// SPDX-License-Identifier: MIT
// The program as a user meets it: exit codes, messages, files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runlog/reader.h"
#include "support/program.h"

namespace tacit::test {
namespace {

constexpr const char* kQuick =
    " --data synthetic:samples=320,test=64,size=8,noise=0.1 --model mlp:hidden=8 --batch 8 ";

TEST_F(Cli, ListsWhatCanBeNamed) {
  const Result r = tacit("list strategies");
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("ssgd"), std::string::npos);
  EXPECT_NE(r.out.find("arXiv:1805.09767"), std::string::npos);
  EXPECT_NE(tacit("list models").out.find("resnet20"), std::string::npos);
  EXPECT_NE(tacit("list datasets").out.find("cifar10"), std::string::npos);
  EXPECT_NE(tacit("list compressors").out.find("powersgd"), std::string::npos);
  EXPECT_EQ(json("list models --json").at(0).at("name"), "logistic");
}

TEST_F(Cli, HelpHasAnExampleForEveryCommand) {
  for (const char* command : {"", "train ", "list ", "launch ", "measure ", "bench "}) {
    const Result r = tacit(std::string(command) + "--help");
    EXPECT_EQ(r.code, 0);
    EXPECT_NE(r.out.find("Example:"), std::string::npos) << command;
  }
  EXPECT_NE(tacit("train --help").out.find("per step and worker"), std::string::npos);
}

TEST_F(Cli, TrainsAndLeavesAReadableLogAndASummary) {
  const Result r = tacit("train --workers 4 --strategy local:period=3 --epochs 2 --seed 7 --out run/a" +
                         std::string(kQuick));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("test accuracy"), std::string::npos);
  EXPECT_NE(r.err.find("samples/s"), std::string::npos);  // plain progress lines: stderr is no terminal
  EXPECT_EQ(r.err.find('\x1b'), std::string::npos);
  const auto summary = nlohmann::json::parse(slurp(path("run/a/summary.json")));
  for (const char* key : {"strategy", "world", "workers", "steps", "samples", "seconds", "loss", "accuracy",
                          "bytes_payload", "bytes_wire", "messages", "seed", "weights_hash"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_EQ(summary.at("status"), "finished");
  EXPECT_EQ(summary.at("steps"), 20);
  EXPECT_EQ(summary.at("samples"), 640);
  EXPECT_EQ(summary.at("seed"), 7);
  EXPECT_GT(summary.at("bytes_payload"), 0);
  const RunRecord record = read_run_log(path("run/a/run.jsonl"));
  EXPECT_EQ(record.started.strategy, "local:period=3");
  EXPECT_EQ(record.started.workers, 4);
  EXPECT_EQ(record.steps.size(), 8U);
  EXPECT_EQ(record.evaluations.size(), 2U);
  ASSERT_TRUE(record.ended);
  EXPECT_EQ(record.ended->weights_hash, summary.at("weights_hash").get<std::string>());
}

TEST_F(Cli, TheSameSeedGivesTheSameWeightsAndAnotherSeedOthers) {
  const std::string args = "train --workers 4 --steps 30 --json" + std::string(kQuick);
  const auto first = json(args + "--seed 1").at("weights_hash");
  EXPECT_EQ(json(args + "--seed 1").at("weights_hash"), first);
  EXPECT_NE(json(args + "--seed 2").at("weights_hash"), first);
}

TEST_F(Cli, NamesInOptionsMayBeWrittenWithDashesOrUnderscores) {
  const auto hash = json("train --steps 5 --json --optimizer sgd:weight_decay=0.1" + std::string(kQuick))
                        .at("weights_hash");
  EXPECT_EQ(json("train --steps 5 --json --optimizer sgd:weight-decay=0.1" + std::string(kQuick))
                .at("weights_hash"),
            hash);
}

TEST_F(Cli, QuietShowsNoProgress) {
  const Result r = tacit("train --steps 5 --quiet" + std::string(kQuick));
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
}

TEST_F(Cli, UnknownNamesAreRefusedWithTheNearestKnownOne) {
  expect_refusal("train --strategy sgsd" + std::string(kQuick), {"sgsd", "'ssgd'"});
  expect_refusal("train --model cnm --data synthetic", {"cnm", "'cnn'"});
  expect_refusal("train --data fashion-mnits", {"fashion-mnits", "'fashion-mnist'"});
  expect_refusal("train --optimizer adm", {"adm", "'adam'"});
  expect_refusal("train --schedule cosin", {"'cosine'"});
  expect_refusal("train --stratgy ssgd", {"--stratgy", "'--strategy'"});
  expect_refusal("trian", {"trian", "'train'"});
  expect_refusal("list modles", {"modles", "'models'"});
}

TEST_F(Cli, UnknownOrBadOptionsOfASpecAreRefused) {
  expect_refusal("train --strategy local:perod=4", {"perod", "'period'"});
  expect_refusal("train --strategy local:period=4x", {"period=4x", "integer"});
  expect_refusal("train --strategy ssgd:servers=5 --workers 4", {"servers=5", "4 workers"});
  expect_refusal("train --optimizer sgd:momentum=2", {"momentum=2"});
}

TEST_F(Cli, ImpossibleNumbersAreRefused) {
  expect_refusal("train --bucket 0", {"--bucket 0", "256KiB"});
  expect_refusal("train --bucket some", {"--bucket some", "256KiB"});
  expect_refusal("train --strategy local --bucket 64KiB", {"--bucket 64KiB", "the strategy local", "ssgd"});
  expect_refusal("train --workers 0", {"--workers"});
  expect_refusal("train --workers -2", {"--workers"});
  expect_refusal("train --workers four", {"--workers"});
  expect_refusal("train --batch 0", {"--batch"});
  expect_refusal("train --lr 0", {"--lr"});
  expect_refusal("train --epochs 0", {"--epochs"});
  expect_refusal("train --steps -5", {"--steps"});
  expect_refusal("train --lr nan", {"--lr"});
  expect_refusal("train --lr inf", {"--lr"});
  expect_refusal("train --timeout nan", {"--timeout"});
  expect_refusal("train --log-every 0", {"--log-every"});
  expect_refusal("train --workers 4 --data synthetic:samples=100 --model logistic --batch 64",
                 {"batch", "25"});
}

TEST_F(Cli, ShardsThatAreNotAlikeAreSaidAtTheStartInTheSummaryAndInTheLog) {
  const std::string args = "train --workers 4 --steps 5 --out o --overwrite" + std::string(kQuick);
  const Result r = tacit(args + " --shards classes:5");
  EXPECT_EQ(r.code, 0) << r.err;
  const std::string words =
      "20 % of a worker's samples are of one class, on average; the smallest shard has ";
  EXPECT_NE(r.err.find("shards classes:5: " + words), std::string::npos) << r.err;
  EXPECT_NE(r.out.find("shards          classes:5: 20 % of"), std::string::npos) << r.out;
  const auto summary = nlohmann::json::parse(slurp(path("o/summary.json")));
  EXPECT_EQ(summary.at("shards"), "classes:5");
  EXPECT_NEAR(summary.at("shard_spread").at("largest_class").get<double>(), 0.2, 0.01);
  const RunRecord log = read_run_log(path("o/run.jsonl"));
  EXPECT_EQ(log.started.shards, "classes:5");
  ASSERT_TRUE(log.started.shard_spread);
  EXPECT_EQ(log.started.shard_spread->smallest, summary.at("shard_spread").at("smallest").get<int>());

  const Result alike = tacit(args);
  EXPECT_EQ((alike.out + alike.err).find("shard"), std::string::npos) << alike.out << alike.err;
  EXPECT_TRUE(nlohmann::json::parse(slurp(path("o/summary.json"))).at("shard_spread").is_null());
}

TEST_F(Cli, ShardsThatCannotBeAreRefused) {
  expect_refusal("train --shards foo" + std::string(kQuick), {"'foo'", "dirichlet"});
  expect_refusal("train --shards classes:0" + std::string(kQuick), {"--shards classes:0", "1 or more"});
  expect_refusal("train --shards dirichlet:x" + std::string(kQuick), {"--shards dirichlet:x", "ALPHA"});
  expect_refusal("train --workers 4 --shards classes:11" + std::string(kQuick), {"classes:11", "10 classes"});
  expect_refusal("train --workers 2 --shards classes:2" + std::string(kQuick), {"classes:5 or more"});
  expect_refusal("train --workers 12 --batch 1 --shards dirichlet:0.00001 --data synthetic:samples=16",
                 {"--shards dirichlet:0.00001", "12 workers", "larger ALPHA"});
}

// Sets a variable for the programs that a test starts.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

TEST_F(Cli, AnEnvironmentThatIsHalfALaunchersIsRefusedInsteadOfTrainingAlone) {
  const Variable size("OMPI_COMM_WORLD_SIZE", "4");
  expect_refusal("train --steps 5" + std::string(kQuick), {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK"});
  const Variable rank("OMPI_COMM_WORLD_RANK", "0");
  expect_refusal("train --steps 5 --workers 2" + std::string(kQuick), {"--workers 2", "4 ranks"});
  expect_refusal("train --steps 5 --world tcp" + std::string(kQuick), {"mpirun", "--rendezvous"});
  EXPECT_EQ(tacit("train --steps 5 --quiet --world threads --workers 2" + std::string(kQuick)).code, 0);
}

TEST_F(Cli, WorldsThatCannotBeAreRefused) {
  expect_refusal("train --world treads" + std::string(kQuick), {"treads", "'threads'"});
  expect_refusal("train --world mpi" + std::string(kQuick), {"mpirun"});
  expect_refusal("train --world tcp" + std::string(kQuick), {"tacit launch", "TACIT_RANK"});
  expect_refusal("train --lost-after 0" + std::string(kQuick), {"--lost-after 0"});
}

TEST_F(Cli, BadFilesAreRefusedAndNothingIsWritten) {
  fs::create_directories(path("mnist"));
  expect_refusal("train --data mnist:path=nowhere --out o", {"nowhere"});
  expect_refusal("train --data mnist:path=mnist --out o", {"train-images-idx3-ubyte", "missing"});
  for (const char* stem : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"})
    std::ofstream(path("mnist") / stem) << "this is no IDX file at all";
  expect_refusal("train --data mnist:path=mnist --out o", {"mnist/train-", "not an IDX file"});
  EXPECT_FALSE(fs::exists(path("o")));
}

TEST_F(Cli, AnOutputFolderThatCannotBeWrittenIsRefused) {
  std::ofstream(path("file")) << "in the way";
  expect_refusal("train --steps 5 --out file" + std::string(kQuick), {"file", "--out"});
  expect_refusal("train --steps 5 --out file/inside" + std::string(kQuick), {"file", "--out"});
  expect_refusal("train --steps 5 --out /proc/nowhere" + std::string(kQuick), {"/proc/nowhere", "--out"});
}

TEST_F(Cli, AResultThatCannotBeWrittenIsAFailure) {
  EXPECT_EQ(WEXITSTATUS(std::system("'" TACIT_PROGRAM "' list models >/dev/full 2>/dev/null")), 1);
  fs::create_directories(path("o/summary.json/in-the-way"));
  expect_refusal("train --steps 5 --out o" + std::string(kQuick), {"summary.json", "--out"});
}

TEST_F(Cli, ALossThatExplodesEndsTheRunWithRankAndStep) {
  const Result r = tacit(
      "train --workers 2 --model quadratic --data synthetic:samples=320,test=64,size=8 --batch 8 "
      "--lr 100 --steps 500 --out o --quiet");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("rank "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("step "), std::string::npos) << r.err;
  const auto summary = nlohmann::json::parse(slurp(path("o/summary.json")));
  EXPECT_EQ(summary.at("status"), "diverged");
  EXPECT_NE(summary.at("error").get<std::string>().find("loss"), std::string::npos);
}

TEST_F(Cli, ARunWhoseLossRoseIsNoSuccess) {
  const Result r = tacit(
      "train --workers 2 --model mlp:hidden=8 --data synthetic:samples=320,test=64,size=8 --batch 8 --lr 5 "
      "--optimizer sgd --steps 60 --json");
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_EQ(nlohmann::json::parse(r.out).at("status"), "diverged");
  EXPECT_NE(r.err.find("tacit: the run diverged: "), std::string::npos) << r.err;
}

// A run of the program that has begun to train and ends by a signal alone; its process.
pid_t train_for_long(const fs::path& out) {
  const pid_t child = fork();
  if (child == 0) {
    execl(TACIT_PROGRAM, "tacit", "train", "--workers", "3", "--steps", "100000000", "--log-every", "1",
          "--quiet", "--data", "synthetic:samples=320,test=64,size=8", "--model", "mlp:hidden=8", "--batch",
          "8", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (child > 0 && std::chrono::steady_clock::now() < give_up &&
         slurp(out / "run.jsonl").find("steps_done") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return child;
}

TEST_F(Cli, AnInterruptLeavesAReadableLogAndASummary) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const fs::path out = path("o" + std::to_string(signal_number));
    const pid_t child = train_for_long(out);
    ASSERT_GT(child, 0);
    kill(child, signal_number);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    const RunRecord record = read_run_log(out / "run.jsonl");
    ASSERT_TRUE(record.ended);
    EXPECT_EQ(record.ended->status, "interrupted");
    EXPECT_GT(record.ended->steps, 0);
    EXPECT_FALSE(record.ended->only_rank);  // all ranks are in this process
    EXPECT_TRUE(fs::exists(out / "summary.json"));
  }
}

TEST_F(Cli, ARunWhoseOutputNobodyReadsLeavesItsAccount) {
  const std::string command = "cd '" + path(".").string() +
                              "' && { '" TACIT_PROGRAM
                              "' train --workers 2 --data synthetic:samples=320,test=64,size=8 --model "
                              "mlp:hidden=8 --steps 200 --out o 2>&1; echo $? >code; } | true";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(slurp(path("code")), "1\n");  // what was asked for was not said
  EXPECT_EQ(nlohmann::json::parse(slurp(path("o/summary.json"))).at("status"), "finished");
  EXPECT_EQ(read_run_log(path("o/run.jsonl")).ended->status, "finished");
}

TEST_F(Cli, AFullDiskIsWarnedOfOnceAndTheRunGoesOn) {
  // The log is of 300 lines, and files of this process may have 2048 bytes: enough for the summary and the model.
  const std::string command =
      "cd '" + path(".").string() +
      "' && { (ulimit -f 4; exec '" TACIT_PROGRAM
      "' train --workers 3 --data synthetic:samples=320,test=64,size=8 --model mlp:hidden=2 --steps 100 "
      "--log-every 1 --quiet --out o 2>&1); echo $? >code; } | cat >out";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string out = slurp(path("out"));
  EXPECT_EQ(slurp(path("code")), "0\n") << out;
  const std::string warning = "run.jsonl (File too large); the run goes on";
  EXPECT_NE(out.find(warning), std::string::npos) << out;
  EXPECT_EQ(out.find(warning), out.rfind(warning)) << out;
  EXPECT_EQ(nlohmann::json::parse(slurp(path("o/summary.json"))).at("status"), "finished");
  EXPECT_FALSE(read_run_log(path("o/run.jsonl")).steps.empty());  // whole lines
}

TEST_F(Cli, ALinkInThePlaceOfTheLogIsRefused) {
  fs::create_directories(path("o"));
  std::ofstream(path("precious")) << "text";
  fs::create_symlink(path("precious"), path("o/run.jsonl"));
  expect_refusal("train --data synthetic --model mlp --steps 1 --out o", {"run.jsonl", "symbolic link"});
  EXPECT_EQ(slurp(path("precious")), "text");
}

TEST_F(Cli, ASecondRunIntoAFolderAsksWhetherItMayOverwriteTheFirst) {
  const std::string run = "train --steps 5 --quiet --out o" + std::string(kQuick);
  ASSERT_EQ(tacit(run).code, 0);
  const std::string account = slurp(path("o/summary.json"));
  const std::string log = slurp(path("o/run.jsonl"));
  expect_refusal(run, {"o has the account of another run (summary.json of 20", "--overwrite", "--out"});
  EXPECT_EQ(slurp(path("o/summary.json")), account);
  EXPECT_EQ(slurp(path("o/run.jsonl")), log);
  EXPECT_EQ(tacit(run + " --seed 9 --overwrite").code, 0);
  EXPECT_EQ(nlohmann::json::parse(slurp(path("o/summary.json"))).at("seed"), 9);
  fs::remove(path("o/summary.json"));  // as of a run that was killed, or that is still under way
  expect_refusal(run, {"run.jsonl of 20", "did not end", "--overwrite"});
  EXPECT_FALSE(fs::exists(path("o/summary.json")));
  fs::remove(path("o/run.jsonl"));
  std::ofstream(path("o/notes.txt")) << "what else is in it is nobody's account";
  EXPECT_EQ(tacit(run).code, 0);
}

TEST_F(Cli, SaysWhichStrategyTakesWhichCompressor) {
  EXPECT_NE(tacit("list --legal").out.find("topk        plain ef dgc    plain ef"), std::string::npos);
  bool refused = false;
  for (const auto& pair : json("list --legal --json")) {
    EXPECT_EQ(pair.at("legal").get<bool>(), pair.at("reason").get<std::string>().empty());
    refused = refused || !pair.at("legal").get<bool>();
  }
  EXPECT_TRUE(refused);
}

TEST_F(Cli, TrainsCompressedWithFewerBytesAndRefusesSenselessPairs) {
  const std::string train =
      "train --workers 2 --model mlp --data synthetic:samples=200,test=50 --steps 6 --json ";
  const auto plain = json(train).at("bytes_payload").get<double>();
  EXPECT_LT(json(train + "--compress onebit,ef").at("bytes_payload").get<double>(), plain / 3);
  const auto compressed = json(train + "--compress onebit,ef");
  EXPECT_EQ(compressed.at("compress"), "onebit,ef");
  EXPECT_EQ(compressed.at("strategy"), "ssgd");
  expect_refusal(train + "--compress topk:ratio=0", {"ratio", "(0, 1]"});
  expect_refusal(train + "--compress topk,dgc", {"dgc", "momentum"});
  expect_refusal(train + "--strategy local --optimizer sgd --compress topk,dgc", {"local", "dgc"});
  expect_refusal(train + "--strategy ssgd:servers=1 --compress onebit,ef", {"servers"});
  expect_refusal(train + "--compress onebitt", {"'onebit'"});
}

TEST_F(Cli, BenchMeasuresCompressorsBesideMemcpy) {
  const auto rows = json("bench compress --values 5000 --json");
  EXPECT_GE(rows.size(), 11U);
  for (const auto& row : rows) {
    EXPECT_GT(row.at("encode_of_memcpy").get<double>(), 0);
    EXPECT_GT(row.at("decode_gb_per_s").get<double>(), 0);
    EXPECT_GT(row.at("bytes_per_value").get<double>(), 0);
  }
  expect_refusal("bench compress --values 0", {"--values 0"});
}

}  // namespace
}  // namespace tacit::test
