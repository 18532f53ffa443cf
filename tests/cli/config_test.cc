// SPDX-License-Identifier: MIT
// --config: options in a file.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/program.h"

namespace tacit::test {
namespace {

class Config : public Cli {
 protected:
  void write(const std::string& text) { std::ofstream(path("a.conf")) << text; }
};

constexpr const char* kRun =
    "# a run\n"
    "data = \"synthetic:samples=64,test=16,size=8\"   # with commas\n"
    "model = logistic\n"
    "batch = 8\n"
    "steps = 3\n"
    "evaluate_every = 2\n"
    "json = true\n";

TEST_F(Config, OptionsOfAFileCountAndThoseOfTheLineWin) {
  write(kRun);
  EXPECT_EQ(json("train --config a.conf").at("steps"), 3);
  EXPECT_EQ(json("train --config=a.conf --steps 5").at("steps"), 5);
  EXPECT_EQ(json("train --steps=5 --config a.conf").at("steps"), 5);
  EXPECT_EQ(json("train --config a.conf --epochs 1").at("steps"), 8);  // which excludes --steps
  EXPECT_EQ(tacit("train --config a.conf --json=false --quiet").out.find('{'), std::string::npos);
}

TEST_F(Config, WhatIsNoOptionIsRefusedWithItsLine) {
  write("workers = 2\nwokers = 4\n");
  expect_refusal("train --config a.conf", {"a.conf:2: unknown option of tacit train 'wokers'", "'workers'"});
  write("[train]\n");
  expect_refusal("train --config a.conf", {"a.conf:1:", "section"});
  write("quiet\n");
  expect_refusal("train --config a.conf", {"a.conf:1: 'quiet' is no setting; write option = value"});
  write("model = \"mlp\n");
  expect_refusal("train --config a.conf", {"a.conf:1:", "quote"});
  write("steps = 1\nsteps = 2\n");
  expect_refusal("train --config a.conf", {"a.conf:2: steps is in a.conf:1 already"});
  write("config = b.conf\n");
  expect_refusal("train --config a.conf", {"a.conf:1: unknown option of tacit train 'config'"});
}

TEST_F(Config, AValueThatIsRefusedNamesItsPlace) {
  write("\nworkers = 4.5\n");
  expect_refusal("train --config a.conf", {"a.conf:2: --workers 4.5 is not a whole number"});
}

TEST_F(Config, AFileThatIsNotThereIsRefused) {
  expect_refusal("train --config nowhere.conf", {"the config file nowhere.conf is missing"});
  expect_refusal("train --config", {"--config wants a value"});
}

TEST_F(Config, TheProgramOfALaunchKeepsItsOwn) {
  write("ranks = 2\nno-prefix = true\n");
  const Result r = tacit("launch --config a.conf echo --config other.conf");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "--config other.conf\n--config other.conf\n");
}

}  // namespace
}  // namespace tacit::test
