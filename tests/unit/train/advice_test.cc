// SPDX-License-Identifier: MIT
#include "train/advice.h"

#include <gtest/gtest.h>

#include "tacit/strategies/builtin.h"

namespace tacit::test {
namespace {

// Four ranks of ten seconds each, all with these shares.
Summary run(const std::string& strategy, double compute, double communicate) {
  Summary s;
  s.strategy = strategy;
  s.world = "tcp+tls";
  s.workers = 4;
  s.seconds = 10;
  for (int rank = 0; rank < s.workers; ++rank)
    s.ranks.push_back({rank, 10 * compute, 10 * communicate, 10 * (1 - compute - communicate), 1000});
  return s;
}
Summary with(Summary s, const std::string& compress) {
  s.compress = compress;
  return s;
}
std::string say(const Summary& s, AdviceWords words = AdviceWords::kProgram) {
  return advice(s, builtin_strategies(), words);
}

TEST(Advice, IsNothingWhereRanksCompute) {
  EXPECT_EQ(say(run("ssgd", 0.9, 0.08)), "");
  EXPECT_EQ(say(run("ssgd", 1, 0)), "");
}

TEST(Advice, IsNothingForOneRankForAShortRunAndWhereTimesAreNotKnown) {
  Summary one = run("ssgd", 0.2, 0.7);
  one.ranks.resize(1);
  EXPECT_EQ(say(one), "");
  Summary brief = run("ssgd", 0.2, 0.7);
  brief.seconds = 0.5;
  EXPECT_EQ(say(brief), "");
  Summary unknown = run("ssgd", 0.2, 0.7);
  unknown.ranks.clear();
  EXPECT_EQ(say(unknown), "");
  Summary still = run("ssgd", 0, 0);
  for (RankTimes& each : still.ranks) each.wait = 0;
  EXPECT_EQ(say(still), "");
}

TEST(Advice, ExchangeIsHalvedFirst) {
  EXPECT_EQ(say(run("ssgd", 0.4, 0.58)),
            "58 % of the time is exchange: `--compress fp16` would halve the bytes; see docs/choosing.md");
  EXPECT_EQ(say(run("local:period=4", 0.4, 0.58)),
            "58 % of the time is exchange: `--compress fp16` would halve the bytes; see docs/choosing.md");
  EXPECT_EQ(
      say(run("ssgd", 0.4, 0.58), AdviceWords::kLibrary),
      "58 % of the time is exchange: `compress = \"fp16\"` would halve the bytes; see docs/choosing.md");
}

TEST(Advice, ThenItIsMadeSparse) {
  EXPECT_EQ(say(with(run("ssgd", 0.4, 0.5), "fp16")),
            "50 % of the time is exchange, with half the bytes: `--compress topk:ratio=0.01,ef` would send a "
            "25th of them; see docs/choosing.md");
}

TEST(Advice, ThenItIsMadeRarer) {
  EXPECT_EQ(say(with(run("ssgd", 0.4, 0.5), "topk:ratio=0.01,ef")),
            "50 % of the time is exchange: `--strategy local:period=8` would exchange at every 8th step; see "
            "docs/choosing.md");
  EXPECT_EQ(say(with(run("local:period=4", 0.4, 0.5), "topk:ratio=0.01,ef"), AdviceWords::kLibrary),
            "50 % of the time is exchange: the strategy `\"local:period=8\"` would exchange half as often; "
            "see docs/choosing.md");
  EXPECT_EQ(say(with(run("local", 0.4, 0.5), "onebit,ef")),
            "50 % of the time is exchange: `--strategy local:period=32` would exchange half as often; see "
            "docs/choosing.md");
}

TEST(Advice, BetweenThreadsNoBytesAreSaved) {
  Summary s = run("ssgd", 0.4, 0.5);
  s.world = "threads";
  EXPECT_EQ(say(s),
            "50 % of the time is exchange: `--strategy local:period=8` would exchange at every 8th step; see "
            "docs/choosing.md");
}

TEST(Advice, SuggestsNoCompressorToAStrategyThatTakesNone) {
  for (const std::string& name : builtin_strategies().names()) {
    const std::string line = say(run(name, 0.4, 0.5));
    const Sends sends = builtin_strategies().find(name).sends;
    EXPECT_EQ(line.find("--compress") != std::string::npos,
              sends == Sends::kGradients || sends == Sends::kDifferences)
        << name << ": " << line;
    EXPECT_EQ(line.find("50 % of the time is exchange"), 0U) << line;
  }
}

TEST(Advice, ASlowRankIsNamed) {
  Summary s = run("ssgd", 0.5, 0.1);
  s.ranks[3] = {3, 9, 1, 0, 1000};
  EXPECT_EQ(say(s),
            "rank 3 computes 1.8 times as long as others, and 30 % of the time is waiting: see what else its "
            "machine does, or use `--strategy gossip` or `--strategy wagma`, which do not wait for it; see "
            "docs/choosing.md");
  s.strategy = "wagma";
  EXPECT_EQ(say(s),
            "rank 3 computes 1.8 times as long as others, and 30 % of the time is waiting: see what else its "
            "machine does; see docs/choosing.md");
  Summary pair = run("ssgd", 0.5, 0.1);
  pair.ranks.resize(2);
  pair.ranks[0].compute = 9;
  EXPECT_EQ(say(pair).find("rank 0 computes 1.8 times"), 0U) << say(pair);
}

TEST(Advice, ASlowRankThatNobodyWaitsForIsNotWhatItIsAbout) {
  Summary s = run("gossip", 0.5, 0.5);
  s.ranks[3] = {3, 8, 2, 0, 1000};
  EXPECT_EQ(say(s).find("rank 3"), std::string::npos) << say(s);
}

TEST(Advice, WaitingWithoutASlowRankIsHelpedByRarerExchanges) {
  EXPECT_EQ(say(run("ssgd", 0.5, 0.1)),
            "40 % of the time is waiting, though all ranks compute alike: `--strategy local:period=8` would "
            "exchange at every 8th step; see docs/choosing.md");
  EXPECT_EQ(say(run("wagma", 0.5, 0.1)),
            "40 % of the time is waiting, though all ranks compute alike; see docs/choosing.md");
}

}  // namespace
}  // namespace tacit::test
