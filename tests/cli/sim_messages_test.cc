// SPDX-License-Identifier: MIT
// Cluster files and experiments by name, and what is said of broken ones.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/program.h"

namespace tacit::test {
namespace {

class Files : public Cli {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
  }
};

constexpr const char* kTiny =
    " --data synthetic:samples=64,test=16,size=8 --model logistic --batch 8 --steps 2 --json";

TEST_F(Files, ClustersAreFoundByName) {
  write("clusters/demo-8.toml", "workers = 2\n");
  EXPECT_EQ(json("simulate --cluster demo-8" + std::string(kTiny)).at("workers"), 2);  // the one that is here
  fs::remove_all(path("clusters"));
  EXPECT_EQ(json("simulate --cluster demo_8" + std::string(kTiny)).at("workers"), 8);  // the program's own
  expect_refusal("simulate --cluster demo-9",
                 {"unknown cluster file 'demo-9'", "'demo-8'", "path of a file"});
  expect_refusal("simulate --cluster demo-9.toml", {"demo-9.toml is missing"});
  EXPECT_NE(tacit("list clusters").out.find("ethernet-1g"), std::string::npos);
}

TEST_F(Files, ExperimentsAreFoundByNameAndMayNameTheirCluster) {
  write("experiments/mine.toml",
        "cluster = \"demo-8\"\nmodel = \"logistic\"\n[[run]]\nstrategy = \"ssgd\"\n");
  const Result r = tacit("compare --experiment mine --workers 2 --out o" + std::string(kTiny));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(nlohmann::json::parse(r.out).at("rows").size(), 1U);
  expect_refusal("compare --experiment straglers", {"unknown experiment 'straglers'", "'stragglers'"});
}

TEST_F(Files, ZshIsOfferedNamesAndFiles) {
  const std::string zsh = tacit("completion zsh").out;
  EXPECT_NE(zsh.find(R"(:cluster:{_alternative "names\:name\:()"), std::string::npos) << zsh;
}

TEST_F(Files, BrokenTomlIsShownWithItsLineAndACaret) {
  write("bad.toml", "workers = 4\n[network\nbandwidth = \"1Gbps\"\n");
  const Result r = tacit("simulate --cluster bad.toml");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("bad.toml:2 is not TOML: "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("\n  [network\n  "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("\n  ^"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("toml::"), std::string::npos) << r.err;
}

TEST_F(Files, ExperimentsAreRefusedWithTheFileAndTheRun) {
  write("e.toml", "cluster = \"demo-8\"\n[[run]]\nstrategy = \"ssgd\"\n[[run]]\nname = \"second\"\n");
  expect_refusal("compare --experiment e.toml", {"e.toml: run 2 wants a strategy, such as strategy = "});
  write(
      "e.toml",
      "cluster = \"demo-8\"\n[[run]]\nstrategy = \"ssgd\"\n[[run]]\nname = \"mine\"\nstrategy = \"lokal\"\n");
  expect_refusal("compare --experiment e.toml --model logistic",
                 {"e.toml: run 2 (mine): unknown strategy 'lokal'"});
  write("e.toml", "cluster = \"demo-8\"\n[[run]]\nstratgy = \"ssgd\"\nstrategy = \"ssgd\"\n");
  expect_refusal("compare --experiment e.toml", {"e.toml: run 1.", "'stratgy'", "'strategy'"});
}

TEST_F(Files, OptionsOfStrategiesBehindACommaAreShownBehindAColon) {
  expect_refusal("compare --cluster demo-8 --strategies ssgd,local,period=4", {"write local:period=4"});
}

TEST_F(Files, WhatSimulateWantsIsAskedFor) {
  expect_refusal("simulate", {"tacit: simulate wants --cluster: Cluster file, or the name of one"});
  expect_refusal("compare --strategies ssgd", {"--strategies needs --cluster, too"});
}

}  // namespace
}  // namespace tacit::test
