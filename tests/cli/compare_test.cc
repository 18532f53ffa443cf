// SPDX-License-Identifier: MIT
// tacit compare as a user meets it: where it writes, and what a terminal shows.
#include <gtest/gtest.h>

#include <fstream>

#include "support/program.h"
#include "support/pty.h"

namespace tacit::test {
namespace {

class Compare : public Cli {
 protected:
  Compare() {
    std::ofstream(path("cluster.toml"))
        << "workers = 4\n[network]\nbandwidth = \"1Gbps\"\nlatency = \"50us\"\n"
           "[compute]\nstep = \"20ms\"\njitter = 0.2\n";
  }

  const std::string train_ =
      " --cluster cluster.toml --model logistic --data synthetic:samples=960 --steps 20 --batch 10";
};

TEST_F(Compare, AnotherComparisonIntoAFolderAsksWhetherItMayOverwriteTheFirst) {
  const std::string compare = "compare --quiet --out cmp --strategies ";
  ASSERT_EQ(tacit(compare + "ssgd,local:period=2" + train_).code, 0);
  const std::string account = slurp(path("cmp/compare.json"));
  expect_refusal(compare + "ssgd" + train_, {"cmp/compare.json has 1 run ", "--overwrite", "--out"});
  expect_refusal(compare + "ssgd,local:period=2 --lr 0.03" + train_, {"cmp/compare.json has 2 runs "});
  EXPECT_EQ(slurp(path("cmp/compare.json")), account);
  EXPECT_EQ(tacit(compare + "ssgd,local:period=2,local:period=3" + train_).code, 0);  // nothing is lost
  EXPECT_EQ(tacit(compare + "ssgd --overwrite" + train_).code, 0);
  std::ofstream(path("cmp/compare.json")) << "{}";
  expect_refusal(compare + "ssgd" + train_, {"cmp/compare.json is no comparison", "--overwrite"});
}

TEST_F(Compare, ShardsArePartOfWhatARunIsAndMayDifferFromRunToRun) {
  const std::string compare = "compare --quiet --out cmp --strategies ssgd" + train_;
  ASSERT_EQ(tacit(compare + " --shards classes:3").code, 0);
  const auto first = nlohmann::json::parse(slurp(path("cmp/compare.json")))["rows"][0]["runs"][0];
  EXPECT_NE(first["identity"]["options"].get<std::string>().find("--shards classes:3 "), std::string::npos);
  expect_refusal(compare + " --shards classes:4", {"cmp/compare.json has 1 run "});

  std::ofstream(path("shards.toml")) << "cluster = \"cluster.toml\"\nmodel = \"logistic\"\n"
                                        "data = \"synthetic:samples=960\"\nsteps = 20\nbatch = 10\n"
                                        "shards = \"classes:3\"\n[[run]]\nstrategy = \"ssgd\"\n"
                                        "[[run]]\nstrategy = \"ssgd\"\nshards = \"iid\"\n";
  const auto rows = json("compare --quiet --json --experiment shards.toml --out both")["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["runs"][0]["weights_hash"], first["weights_hash"]);
  EXPECT_EQ(rows[1]["strategy"], "ssgd iid");
  EXPECT_NE(rows[1]["runs"][0]["weights_hash"], first["weights_hash"]);
  // The world does not change what a rank has.
  const auto alone = json(
      "train --workers 4 --json --model logistic --data synthetic:samples=960 --steps 20 --batch 10 "
      "--shards classes:3");
  EXPECT_EQ(alone["weights_hash"], first["weights_hash"]);
  const auto given = json("compare --quiet --json --experiment shards.toml --out given --shards classes:4");
  EXPECT_NE(given["rows"][0]["runs"][0]["weights_hash"], first["weights_hash"]);
  expect_refusal("simulate --cluster cluster.toml --cost-only --model resnet50 --steps 2 --shards classes:3",
                 {"--cost-only", "leave --shards out"});
}

TEST_F(Compare, TheSizeOfBucketsIsThatOfTheRunByItself) {
  const auto hash = [&](const std::string& bucket) {
    const auto table =
        json("compare --strategies ssgd --json --overwrite --out cmp --bucket " + bucket + train_);
    return table["rows"][0]["runs"][0]["trace_hash"].get<std::string>();
  };
  EXPECT_EQ(hash("1KiB"), json("simulate --strategy ssgd --json --bucket 1KiB" + train_)["trace_hash"]);
  EXPECT_NE(hash("1KiB"), hash("whole"));
}

TEST_F(Compare, OnATerminalAComparisonIsNoWiderThanItAndSaysWhatIsLeft) {
  const std::vector<std::string> compare{"compare",
                                         "--cluster",
                                         "cluster.toml",
                                         "--strategies",
                                         "ssgd,local:period=10",
                                         "--model",
                                         "mlp",
                                         "--data",
                                         "synthetic:samples=960",
                                         "--steps",
                                         "20",
                                         "--batch",
                                         "10",
                                         "--target",
                                         "0.5",
                                         "--seeds",
                                         "1,2",
                                         "--jobs",
                                         "1",
                                         "--fresh"};
  for (const int columns : {80, 60}) {
    const Screen screen = on_terminal(path("."), compare, columns);
    EXPECT_EQ(screen.code, 0) << screen.text;
    EXPECT_LE(widest_line_on(screen.text), static_cast<std::size_t>(columns)) << screen.text;
    for (const char* words :
         {"0 of 4 runs done", " left for all", "4 of 4 runs done", "local:period=10, seed 2", "strategy",
          "to 50.0 %", "comp/comm/wait", "speed-up", "1.00 x"})
      EXPECT_NE(screen.text.find(words), std::string::npos) << columns << "\n"
                                                            << words << "\n"
                                                            << screen.text;
  }
}

}  // namespace
}  // namespace tacit::test
