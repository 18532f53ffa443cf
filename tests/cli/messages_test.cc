// SPDX-License-Identifier: MIT
// What the program says to a command line that it cannot follow: what is wrong, and what to write instead.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/program.h"

namespace tacit::test {
namespace {

constexpr const char* kTiny = " --data synthetic:samples=64,test=16,size=8 --model logistic --batch 8 ";

TEST_F(Cli, AValueThatIsNoNumberIsRefusedWithOneThatIs) {
  expect_refusal("train --workers 4.5",
                 {"tacit: --workers 4.5 is not a whole number, such as 4; see tacit train --help"});
  expect_refusal("train --workers=four", {"--workers four is not a whole number, such as 4"});
  expect_refusal("train --lr fast", {"--lr fast is not a number, such as 0.1"});
  expect_refusal("train --seed -1", {"--seed -1 is not a whole number of 0 or more, such as 1"});
  expect_refusal("launch -n x ls", {"--ranks x is not a whole number"});
  expect_refusal("train --steps 0x10", {"--steps 0x10 is not a whole number"});
  expect_refusal("train --json=maybe", {"--json is a switch"});
}

TEST_F(Cli, ANumberIsReadAsItIsWritten) {
  EXPECT_EQ(json("train --json --steps 010" + std::string(kTiny)).at("steps"), 10);  // and not as octal
}

TEST_F(Cli, AMissingValueIsAskedFor) {
  expect_refusal("train --workers", {"--workers wants a whole number, such as --workers 4"});
  expect_refusal("train --strategy", {"--strategy wants a value"});
}

TEST_F(Cli, AnOptionThatStandsTwiceOrBesideItsOppositeIsRefused) {
  expect_refusal("train --workers 2 --workers 3", {"--workers is given 2 times; give it once"});
  expect_refusal("train --epochs 1 --steps 2", {"--epochs and --steps exclude each other"});
}

TEST_F(Cli, ANumberBeyondAllCountingIsRefused) {
  expect_refusal("train --epochs 100000000000000000" + std::string(kTiny),
                 {"--epochs 100000000000000000 is too large"});
  expect_refusal("train --epochs 1000000000000" + std::string(kTiny), {"1000000000000 epochs of 8 steps"});
  expect_refusal("train --epochs 99999999999999999999", {"--epochs 99999999999999999999", "too large"});
  expect_refusal("train --workers 99999999999", {"--workers 99999999999", "too large"});
  expect_refusal("train --steps 1000000000001", {"--steps 1000000000001 is too large"});
  expect_refusal("train --batch 1000000000000000000", {"--batch 1000000000000000000 is too large"});
}

TEST_F(Cli, ABatchThatDoesNotFitIsRefusedBeforeThereAreWorkers) {
  expect_refusal("train --workers 100" + std::string(kTiny), {"a batch of 8", "64 samples"});
}

TEST_F(Cli, WhatThreadsDoNotLookAtIsRefused) {
  for (const char* option :
       {"--key-file key", "--rendezvous tcp://127.0.0.1:9", "--insecure-plaintext", "--lost-after 3"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_refusal("train --steps 1 " + std::string(option) + kTiny,
                   {name + " is about workers that are processes"});
  }
}

TEST_F(Cli, AQuestionEndsWithItsMark) {
  expect_refusal("train --worker 4",
                 {"unknown option '--worker'; did you mean '--workers'? See tacit train --help\n"});
  expect_refusal("train --nonsense", {"unknown option '--nonsense'; see tacit train --help\n"});
}

TEST_F(Cli, AnOptionInFrontOfItsCommandIsSentBehindIt) {
  expect_refusal("--workers 4 train", {"'--workers' is an option of tacit train; write it after train"});
}

TEST_F(Cli, ACommandThatDoesNotExistHasNoHelp) {
  expect_refusal("nonsense --help", {"unknown command 'nonsense'"});
  expect_refusal("trian --help", {"did you mean 'train'?"});
  EXPECT_EQ(tacit("train --help").code, 0);
}

TEST_F(Cli, WhatIsLeftOutIsAskedForByItsMeaning) {
  expect_refusal("bench", {"tacit: bench wants one of: allreduce, latency, bandwidth or compress"});
  expect_refusal("", {"say what to do: train, "});
}

TEST_F(Cli, LaunchTakesTheFirstWordForTheProgram) {
  const Result r = tacit("launch -n 2 printf '%s\\n' -la -- --help");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* line : {"[0] -la\n", "[0] --\n", "[1] --help\n"})
    EXPECT_NE(r.out.find(line), std::string::npos) << r.out;
  EXPECT_EQ(tacit("launch -n 2 --no-prefix -- printf x").out, "xx");
  EXPECT_EQ(tacit("launch -n2 --no-prefix printf x").out, "xx");
  expect_refusal("launch -n 2", {"there is no program to start"});
  expect_refusal("launch --nonsense ls", {"unknown option '--nonsense'"});
}

TEST_F(Cli, SlotsBehindAColonAreShownAsTheyAreWritten) {
  std::ofstream(path("hosts")) << "node0\nnode1:4\n";
  expect_refusal("launch --hosts hosts ls", {"hosts:2: 'node1:4'", "write `node1 slots=4`"});
}

TEST_F(Cli, OptionsBehindACommaAreShownBehindAColon) {
  expect_refusal("train --strategy local,period=4", {"write local:period=4"});
  expect_refusal("train --optimizer sgd,momentum=0.9", {"write sgd:momentum=0.9"});
}

TEST_F(Cli, AModelThatIsOnlyASizeIsSentToTheSimulator) {
  expect_refusal("train --model bert-large",
                 {"bert-large is known by its size alone", "tacit simulate --cost-only"});
  expect_refusal("train --model bert-large:x=1", {"bert-large is known by its size alone"});
}

// Of a program that may read what its owner may, and no more, whoever runs this test.
TEST_F(Cli, AFileThatMayNotBeReadIsNotCalledMissing) {
  const std::string plain = ::geteuid() == 0
                                ? "setpriv --bounding-set -dac_override,-dac_read_search '" TACIT_PROGRAM "' "
                                : "'" TACIT_PROGRAM "' ";
  fs::create_directories(path("closed/mnist"));
  std::ofstream(path("closed/hosts")) << "node1\n";
  std::ofstream(path("a.conf")) << "steps = 1\n";
  fs::permissions(path("closed"), fs::perms::none);
  fs::permissions(path("a.conf"), fs::perms::none);
  for (const char* args :
       {"train --data mnist:path=closed/mnist", "launch --hosts closed/hosts ls", "train --config a.conf"}) {
    const Result r = run(plain + args);
    EXPECT_EQ(r.code, 2) << args;
    EXPECT_NE(r.err.find("may not be read by you (Permission denied)"), std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("missing"), std::string::npos) << r.err;
  }
  fs::permissions(path("closed"), fs::perms::owner_all);
}

}  // namespace
}  // namespace tacit::test
