// SPDX-License-Identifier: MIT
// tacit tune, as a user runs it, on images that lie in files.
#include <gtest/gtest.h>

#include <fstream>

#include "runlog/reader.h"
#include "support/program.h"

namespace tacit::test {
namespace {

constexpr std::uint32_t kSide = 6;

class Tune : public Cli {
 protected:
  Tune() {
    std::ofstream(path("cluster.toml"))
        << "workers = 2\n[network]\nbandwidth = \"1Gbps\"\nlatency = \"50us\"\n[compute]\nstep = \"20ms\"\n";
    fs::create_directories(path("data"));
    write_images("train", 160);
    write_images("t10k", 20);
  }

  // In the format of MNIST. What class an image has is the column that is bright; of every fifth it is another one.
  void write_images(const std::string& part, std::uint32_t count) {
    std::ofstream images(path("data/" + part + "-images-idx3-ubyte"), std::ios::binary);
    std::ofstream labels(path("data/" + part + "-labels-idx1-ubyte"), std::ios::binary);
    for (const std::uint32_t each : {0x803U, count, kSide, kSide}) write_number(images, each);
    for (const std::uint32_t each : {0x801U, count}) write_number(labels, each);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t label = (i * 7 + i / 11) % kSide;
      labels.put(static_cast<char>(label));
      const std::uint32_t bright = i % 5 == 4 ? (label + 1) % kSide : label;
      for (std::uint32_t pixel = 0; pixel < kSide * kSide; ++pixel)
        images.put(static_cast<char>(pixel % kSide == bright ? 120 : (pixel * 5 + i * 3) % 40));
    }
  }
  static void write_number(std::ofstream& out, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(number >> shift & 0xFFU));
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
  }

  const std::string data_ = " --data mnist:path=data --holdout 60";
  const std::string train_ = " --model logistic --steps 20 --batch 5" + data_;
  const std::string two_ = " --cluster cluster.toml --strategies ssgd,local:period=2" + train_;
  const std::string one_ = " --cluster cluster.toml --strategies ssgd" + train_;
};

TEST_F(Tune, ChoosesARateForEachStrategyThatCompareThenRunsWith) {
  const auto account = json("tune --rates 0.01,0.05,1e6 --extend 1 --margin 0.5 --json --out t" + two_);
  const auto& chosen = account["chosen"];
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(account["data"], "mnist:path=data,holdout=60");
  for (const auto& each : chosen) {
    EXPECT_LT(each["rate"].get<double>(), 1);
    EXPECT_EQ(each["accuracy_n"], 2);
    EXPECT_NE(each["how_sure"], "unknown");
    EXPECT_EQ(each["lead"]["n"], 2);
    EXPECT_GE(each["largest_stable"].get<double>(), each["rate"].get<double>());
  }
  for (const auto& row : account["rows"])
    for (const auto& run : row["runs"]) EXPECT_TRUE(run["seed"] == 101 || run["seed"] == 102) << run;

  const auto table = json("compare --experiment t/tuned.toml --seeds 1 --json --out c");
  ASSERT_EQ(table["rows"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const RunRecord run = read_run_log(path(i == 0 ? "c/ssgd/run.jsonl" : "c/local-period-2/run.jsonl"));
    EXPECT_EQ(run.started.lr, chosen[i]["rate"].get<double>());
    EXPECT_EQ(run.started.data, "mnist:path=data") << "the result is on the test set";
    EXPECT_EQ(run.started.steps, 20);
    EXPECT_EQ(run.started.batch, 5);
  }
}

TEST_F(Tune, TheTestSetIsNotLookedAtAndWhatRanIsPickedUp) {
  const std::string tune = "tune --rates 0.01,0.05 --extend 2 --out t" + one_;
  const Result first = tacit(tune);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("next: tacit compare --experiment t/tuned.toml"), std::string::npos) << first.out;
  const auto before = nlohmann::json::parse(slurp(path("t/tune.json")));
  const std::size_t runs = 2 * before["rows"].size();
  EXPECT_GT(runs, 4U) << "a grid of two always ends at its best";

  write_images("t10k", 5);  // another test set
  const Result again = tacit(tune);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err.find("runs done"), std::string::npos) << again.err;
  const auto after = nlohmann::json::parse(slurp(path("t/tune.json")));
  EXPECT_EQ(after["chosen"], before["chosen"]);
  ASSERT_EQ(after["rows"].size(), before["rows"].size());
  for (const auto& row : after["rows"])
    for (const auto& run : row["runs"]) EXPECT_EQ(run["picked_up"], true) << run;
  expect_refusal("tune --rates 0.02 --out t" + one_, {"t/tune.json has ", "--overwrite"});
}

TEST_F(Tune, AnExperimentIsTunedAsItIsAndItsSeedsAreNotTouched) {
  write("plans/e.toml",
        "title = \"mine\"\ncluster = \"../cluster.toml\"\nmodel = \"logistic\"\ndata = \"mnist:path=data\"\n"
        "steps = 12\nbatch = 5\nseeds = [3, 101]\n[[run]]\nname = \"plain\"\nstrategy = \"ssgd\"\n"
        "optimizer = \"sgd:momentum=0.5\"\nlr = 0.04\n");
  const std::string tune = "tune --experiment plans/e.toml --holdout 60 --out t --extend 0 --json";
  expect_refusal(tune, {"--seeds 101,102 has 101", "plans/e.toml makes its result", "other seeds"});
  const auto account = json(tune + " --seeds 7");
  EXPECT_EQ(account["chosen"][0]["rates"].get<std::vector<double>>(),
            (std::vector<double>{0.01, 0.02, 0.04, 0.08, 0.16}));
  EXPECT_EQ(account["chosen"][0]["how_sure"], "unknown") << "there is one seed";
  EXPECT_EQ(account["chosen"][0]["lead"]["low"], nullptr);
  const auto table = json("compare --experiment t/tuned.toml --json --out c");
  EXPECT_EQ(table["rows"][0]["strategy"], "plain sgd:momentum=0.5") << "it is not that of the others";
  EXPECT_EQ(table["title"], "mine");
  ASSERT_EQ(table["rows"][0]["runs"].size(), 2U);
  EXPECT_EQ(table["rows"][0]["runs"][1]["seed"], 101);
  EXPECT_EQ(read_run_log(path("c/plain-sgd-momentum-0.5/seed-3/run.jsonl")).started.optimizer,
            "sgd:momentum=0.5");
}

TEST_F(Tune, WhatCannotBeChosenByIsRefused) {
  expect_refusal("tune --rates '' --out t" + one_, {"--rates"});
  expect_refusal("tune --rates 0.1,-1 --out t" + one_, {"'-1' is no learning rate", "positive"});
  expect_refusal("tune --rates 0.1,0.1 --out t" + one_, {"0.1 twice"});
  expect_refusal("tune --rates 0.1 --lr 0.2 --out t" + one_, {"--rates", "--lr", "give one of them"});
  expect_refusal("tune --lr 0 --out t" + one_, {"--lr 0 does not train"});
  expect_refusal("tune --seeds 1,1 --out t" + one_, {"--seeds 1,1"});
  expect_refusal("tune --extend -1 --out t" + one_, {"--extend -1"});
  expect_refusal("tune --margin 5 --out t" + one_, {"--margin 5 is no accuracy"});
  expect_refusal(
      "tune --out t --holdout 160 --cluster cluster.toml --strategies ssgd --model logistic --data "
      "mnist:path=data",
      {"holdout=160 leaves nothing", "hold out fewer"});
  expect_refusal("tune --out t --cluster cluster.toml --strategies ssgd --data synthetic:samples=90",
                 {"the data set synthetic has no holdout=", "test set", "fashion-mnist"});
  expect_refusal(
      "tune --out t --cluster cluster.toml --strategies ssgd --holdout 5 --data mnist:path=data,holdout=9",
      {"holdout=9", "--holdout 5", "give one"});
  expect_refusal("tune --out t" + train_, {"--cluster", "--strategies", "--experiment"});
  expect_refusal("tune --target 0.8 --out t" + one_, {"unknown option '--target'"});
  EXPECT_FALSE(fs::exists(path("t"))) << "what is refused leaves nothing";
  write("e.toml", "cluster = \"cluster.toml\"\nworkers = [2, 3]\n[[run]]\nstrategy = \"ssgd\"\n");
  expect_refusal("tune --experiment e.toml --out t" + train_,
                 {"e.toml has 2 numbers of workers", "--workers 2"});
}

TEST_F(Tune, WhereNothingIsStableItSaysSoAndLeavesNoRunOut) {
  const Result r =
      tacit("tune --rates 1e8 --extend 0 --seeds 1 --out t --optimizer sgd:momentum=0.99" + one_);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_NE(r.out.find("at every rate of the grid a run diverged"), std::string::npos) << r.out;
  EXPECT_NE(slurp(path("t/tuned.toml")).find("strategy = \"ssgd\"\n"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
