// SPDX-License-Identifier: MIT
#include "cli/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/comparison_json.h"
#include "cli/comparison_table.h"
#include "runlog/writer.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

using test::TempDir;

Outcome run_of(std::uint64_t seed, std::optional<double> target_seconds) {
  Outcome o;
  o.seed = seed;
  o.status = RunStatus::kFinished;
  o.identity = {"--seed " + std::to_string(seed), "c", "d", "p"};
  o.step_seconds = 0.1;
  o.seconds = 10;
  o.target_seconds = target_seconds;
  o.accuracy = 0.85;
  o.bytes_per_worker = 3e6;
  o.computing = 0.62;
  o.communicating = 0.3;
  o.waiting = 0.08;
  o.trace_hash = "00000000000000a" + std::to_string(seed);
  return o;
}

Comparison comparison(std::vector<Row> rows) {
  Comparison c{"a title", 0.8, false, std::move(rows)};
  c.set_speed_ups();
  return c;
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(Comparison, SpeedUpsAreRatiosOfTheTimesToTheTarget) {
  const Comparison c =
      comparison({{"ssgd", 4, {run_of(1, 6), run_of(2, 10)}}, {"ssd", 4, {run_of(1, 3), run_of(2, 5)}}});
  EXPECT_DOUBLE_EQ(*c.rows[0].speed_up, 1);
  EXPECT_DOUBLE_EQ(*c.rows[1].speed_up, 2);
  EXPECT_TRUE(c.good());
  EXPECT_TRUE(has(table_of(c), "2.00 x"));
  EXPECT_TRUE(has(table_of(c), "62/30/8 %")) << table_of(c);
}

TEST(Comparison, HasNoSpeedUpWhereARunMissedTheTarget) {
  const Comparison own = comparison({{"ssgd", 4, {run_of(1, 6)}}, {"ssd", 4, {run_of(1, std::nullopt)}}});
  EXPECT_FALSE(own.rows[1].speed_up);
  EXPECT_TRUE(has(table_of(own), "not reached"));
  const Comparison first = comparison({{"ssgd", 4, {run_of(1, std::nullopt)}}, {"ssd", 4, {run_of(1, 6)}}});
  EXPECT_FALSE(first.rows[0].speed_up);
  EXPECT_FALSE(first.rows[1].speed_up) << "against what?";
}

TEST(Comparison, WithoutATargetThereAreNoSpeedUpsButForCostAlone) {
  Comparison c{"a title", std::nullopt, false, {{"ssgd", 4, {run_of(1, std::nullopt)}}}};
  c.set_speed_ups();
  EXPECT_FALSE(c.rows[0].speed_up);
  EXPECT_TRUE(has(table_of(c), "--target"));
  c.cost_only = true;
  c.set_speed_ups();
  EXPECT_DOUBLE_EQ(*c.rows[0].speed_up, 1);
  EXPECT_FALSE(has(table_of(c), "--target"));
}

TEST(Comparison, ARowThatDivergedHasNoSpeedUpAndSaysSo) {
  Outcome bad = run_of(2, 1);
  bad.status = RunStatus::kDiverged;
  bad.error = "the loss rose";
  const Comparison c =
      comparison({{"ssgd", 4, {run_of(1, 6), run_of(2, 6)}}, {"ssd", 4, {run_of(1, 3), bad}}});
  EXPECT_FALSE(c.rows[1].speed_up);
  EXPECT_FALSE(c.good());
  EXPECT_TRUE(c.complete());
  EXPECT_TRUE(has(table_of(c), "1 diverged")) << table_of(c);
  EXPECT_TRUE(has(table_of(c), "ssd, seed 2 diverged: the loss rose\n")) << table_of(c);
}

TEST(Comparison, WhatIsMissingIsSaidAndTheRestIsShown) {
  const Outcome none = outcome_without_numbers(2, RunStatus::kMissing, "");
  const Comparison c = comparison({{"ssgd", 4, {run_of(1, 6), none}}, {"ssd", 4, {none, none}}});
  EXPECT_FALSE(c.complete());
  EXPECT_FALSE(c.good());
  EXPECT_FALSE(c.rows[0].speed_up);
  const std::string table = table_of(c);
  EXPECT_TRUE(has(table, " 6.00 s")) << "one run has no deviation\n" << table;
  EXPECT_TRUE(has(table, "missing\nssgd is missing with seed 2\nssd is missing with seeds 2, 2\n")) << table;
}

TEST(Comparison, ATableFitsIntoAHundredColumns) {
  const Comparison c = comparison({{"local:period=16", 8, {run_of(1, 1234.56)}}});
  const std::string table = table_of(c);
  EXPECT_LE(table.find('\n'), 100U) << table;
}

TEST(Comparison, ATableFitsIntoAnyTerminalAndLosesNothing) {
  const Outcome none =
      outcome_without_numbers(1, RunStatus::kFailed, "it was not to be, for reasons of its own");
  const Comparison c = comparison({{"ssgd", 4, {run_of(1, 6), run_of(2, 10)}},
                                   {"local:period=16", 8, {run_of(1, 1234.5), run_of(2, 1300)}},
                                   {"ssd:warmup=50,delay=5", 8, {none, none}}});
  for (std::size_t columns = 20; columns <= 200; ++columns) {
    const std::string table = table_of(c, columns);
    std::istringstream in(table);
    for (std::string line; std::getline(in, line);) EXPECT_LE(width_of(line), columns) << table;
    if (columns < 40) continue;
    for (const char* words :
         {"strategy", "workers", "per step", "all steps", "to 80.0 %", "accuracy", "sent/worker",
          "comp/comm/wait", "speed-up", "local:period=16", "8.00 ±2.83 s", "62/30/8 %", "failed"})
      EXPECT_TRUE(has(table, words)) << columns << "\n" << words << "\n" << table;
  }
  const std::string table = table_of(c, 60);
  EXPECT_LT(table.find("speed-up"), table.find("per step")) << "what decides comes first\n" << table;
}

Row row_of(const std::string& name, const std::vector<double>& accuracies) {
  Row row{name, 4, {}};
  for (const double each : accuracies) {
    row.outcomes.push_back(run_of(row.outcomes.size() + 1, 6));
    row.outcomes.back().accuracy = each;
  }
  return row;
}

TEST(Comparison, ADifferenceIsTakenSeedBySeed) {
  Row row = row_of("ssd", {0.84, 0.88, 0.91});
  const Row first = row_of("ssgd", {0.83, 0.87, 0.90});
  const auto d = accuracy_difference(row, first);
  EXPECT_EQ(d->sample.n, 3U);
  EXPECT_NEAR(d->sample.mean, 0.01, 1e-12) << "the seeds themselves are much farther apart";
  EXPECT_NEAR(*d->sample.deviation, 0, 1e-12);
  std::reverse(row.outcomes.begin(), row.outcomes.end());
  EXPECT_NEAR(*accuracy_difference(row, first)->sample.deviation, 0, 1e-12) << "in whatever order they stand";
  row.outcomes[0] = outcome_without_numbers(3, RunStatus::kMissing, "");
  EXPECT_EQ(accuracy_difference(row, first)->sample.n, 2U);
  row.outcomes[1].status = RunStatus::kDiverged;
  EXPECT_EQ(accuracy_difference(row, first)->sample.n, 2U)
      << "what diverged is not left out for what it says";
  row.outcomes[1].accuracy.reset();
  EXPECT_FALSE(accuracy_difference(row, first));
}

TEST(Comparison, ADifferenceWhoseIntervalHasZeroIsCalledChance) {
  const Comparison c =
      comparison({row_of("ssgd", {0.83, 0.87, 0.90}), row_of("local", {0.85, 0.86, 0.93}),
                  row_of("gossip", {0.81, 0.8502, 0.8798}), row_of("ssd", {0.8501, 0.89, 0.92})});
  const std::string table = table_of(c);
  EXPECT_TRUE(has(table, "Accuracy against ssgd, seed by seed, in points:\n")) << table;
  EXPECT_TRUE(has(table, "local         3       +1.33  -3.84 to +6.50  may be chance\n")) << table;
  EXPECT_TRUE(has(table, " less accurate\n")) << table;
  EXPECT_TRUE(has(table, " more accurate\n")) << table;
  EXPECT_TRUE(has(table, "± is the sample standard deviation over 3 seeds.\n")) << table;
  const auto rows = to_json(c)["rows"];
  EXPECT_EQ(rows[0]["accuracy_difference"], nullptr);
  EXPECT_EQ(rows[1]["accuracy_difference"]["may_be_chance"], true);
  EXPECT_EQ(rows[2]["accuracy_difference"]["may_be_chance"], false);
  EXPECT_LT(rows[2]["accuracy_difference"]["high"], 0);
  EXPECT_EQ(rows[3]["accuracy_n"], 3);
  EXPECT_NEAR(rows[3]["accuracy_deviation"].get<double>(), 0.0351, 1e-4);
}

TEST(Comparison, ADifferenceOfLessThanAPointIsBelievedOfEightSeeds) {
  const std::vector<double> first{0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87};
  std::vector<double> more = first;
  for (std::size_t i = 0; i < more.size(); ++i) more[i] += i % 2 == 0 ? 0.006 : 0.005;
  EXPECT_TRUE(has(table_of(comparison({row_of("ssgd", first), row_of("ssd", more)})), "more accurate"));
  const std::vector<double> fewer(more.begin(), more.end() - 1);
  const std::string table = table_of(comparison({row_of("ssgd", first), row_of("ssd", fewer)}));
  EXPECT_TRUE(has(table, "needs 8 seeds")) << table;
}

TEST(Comparison, OneSeedShowsNoDifferenceAndSaysSo) {
  const Comparison c = comparison({row_of("ssgd", {0.83}), row_of("local", {0.85})});
  EXPECT_TRUE(has(table_of(c), "One seed: any difference in accuracy may be chance")) << table_of(c);
  EXPECT_FALSE(has(table_of(c), "Accuracy against")) << table_of(c);
  const auto difference = to_json(c)["rows"][1]["accuracy_difference"];
  EXPECT_EQ(difference["n"], 1);
  EXPECT_EQ(difference["low"], nullptr);
  EXPECT_EQ(difference["may_be_chance"], nullptr);
}

TEST(Comparison, RowsOfOtherNumbersOfWorkersAreHeldAgainstTheirOwnFirst) {
  Comparison c = comparison({row_of("ssgd", {0.80, 0.81}), row_of("ssd", {0.70, 0.72}),
                             row_of("ssgd", {0.60, 0.61}), row_of("ssd", {0.62, 0.65})});
  c.rows[2].workers = c.rows[3].workers = 8;
  EXPECT_LT(to_json(c)["rows"][1]["accuracy_difference"]["mean"], 0);
  EXPECT_EQ(to_json(c)["rows"][2]["accuracy_difference"], nullptr);
  EXPECT_GT(to_json(c)["rows"][3]["accuracy_difference"]["mean"], 0);
  EXPECT_TRUE(has(table_of(c), "against the first line with as many workers")) << table_of(c);
}

// Writes the log of a run.
void write_log(const std::filesystem::path& out, const std::string& status, const std::string& trace_hash) {
  std::filesystem::create_directories(out);
  RunLogWriter log(out / "run.jsonl");
  RunStarted started;
  started.steps = 100;
  log.write(started);
  Summary s;
  s.status = status;
  s.error = status == "finished" ? "" : "why";
  s.workers = 4;
  s.steps = 100;
  s.seconds = 20;
  s.target_seconds = 6.5;
  s.compute_seconds = 10;
  s.communicate_seconds = 6;
  s.wait_seconds = 4;
  s.trace_hash = trace_hash;
  log.write(s);
}

TEST(Comparison, AnOutcomeIsReadFromTheRunLog) {
  const TempDir dir;
  write_log(dir.path(), "diverged", "abc");
  const Outcome o = read_outcome(7, dir.path());
  EXPECT_EQ(o.seed, 7U);
  EXPECT_EQ(o.status, RunStatus::kDiverged);
  EXPECT_EQ(o.error, "why");
  EXPECT_EQ(o.seconds, 20.0);
  EXPECT_EQ(o.target_seconds, 6.5);
  EXPECT_DOUBLE_EQ(o.computing, 0.5);
  EXPECT_DOUBLE_EQ(o.communicating, 0.3);
  EXPECT_DOUBLE_EQ(o.waiting, 0.2);
  write_log(dir.path(), "failed", "abc");
  EXPECT_EQ(read_outcome(7, dir.path()).status, RunStatus::kFailed);
}

class Earlier : public ::testing::Test {
 protected:
  // A comparison of one run, whose log has this status.
  void write(const Outcome& o, const std::string& status) {
    comparison({{"ssgd", 4, {o}}}).write(file_);
    write_log(out_, status, o.trace_hash);
  }
  std::optional<Outcome> found(const Identity& identity) const {
    return EarlierRuns(file_).find(identity, 1, out_);
  }

  const TempDir dir_;
  const std::filesystem::path file_ = dir_.path() / "deeper" / "compare.json";
  const std::filesystem::path out_ = dir_.path() / "deeper" / "ssgd";
};

TEST_F(Earlier, RunsThatFinishedOrDivergedArePickedUp) {
  Outcome o = run_of(1, 6);
  write(o, "finished");
  ASSERT_TRUE(found(o.identity));
  EXPECT_TRUE(found(o.identity)->picked_up);
  EXPECT_EQ(found(o.identity)->identity, o.identity);
  EXPECT_EQ(found(o.identity)->status, RunStatus::kFinished);
  o.status = RunStatus::kDiverged;
  write(o, "diverged");
  EXPECT_EQ(found(o.identity)->status, RunStatus::kDiverged);
}

TEST_F(Earlier, RunsThatFailedAreNot) {
  Outcome o = run_of(1, 6);
  o.status = RunStatus::kFailed;
  write(o, "failed");
  EXPECT_FALSE(found(o.identity));
}

TEST_F(Earlier, RunsWithAnotherOptionClusterDataOrProgramAreNot) {
  const Outcome o = run_of(1, 6);
  write(o, "finished");
  for (std::string Identity::*part :
       {&Identity::options, &Identity::cluster, &Identity::data, &Identity::program}) {
    Identity other = o.identity;
    other.*part += "x";
    EXPECT_FALSE(found(other));
  }
}

TEST_F(Earlier, RunsWhoseFolderHoldsAnotherRunOrNoneAreNot) {
  const Outcome o = run_of(1, 6);
  write(o, "finished");
  write_log(out_, "finished", "another");
  EXPECT_FALSE(found(o.identity));
  std::ofstream(out_ / "run.jsonl") << "{}\n{}\n";
  EXPECT_FALSE(found(o.identity));
  std::filesystem::remove(out_ / "run.jsonl");
  EXPECT_FALSE(found(o.identity));
}

TEST_F(Earlier, AFileThatIsNoComparisonHoldsNone) {
  const Outcome o = run_of(1, 6);
  EXPECT_FALSE(found(o.identity)) << "there is no file yet";
  write(o, "finished");
  std::ofstream(file_) << R"({"rows": [{"runs": [{"seed": 1, "trace_hash": "x"}]}]})";
  EXPECT_FALSE(found(o.identity));
  std::ofstream(file_) << "{";
  EXPECT_FALSE(found(o.identity));
}

TEST_F(Earlier, ComparisonsThatHaveAllOfItsRunsMayTakeItsPlace) {
  const Outcome o = run_of(1, 6);
  Identity other = o.identity;
  other.cluster += "x";
  EarlierRuns(file_).refuse_to_lose({});  // there is no file yet
  write(o, "finished");
  EarlierRuns(file_).refuse_to_lose({other, o.identity});
  EXPECT_THROW(EarlierRuns(file_).refuse_to_lose({other}), InvalidConfig);
  std::ofstream(file_) << "{";
  EXPECT_THROW(EarlierRuns(file_).refuse_to_lose({o.identity}), InvalidConfig);
}

TEST_F(Earlier, ComparisonsAreWrittenAsideAndReplaceWhatWasThere) {
  write(run_of(1, 6), "finished");
  const auto json = nlohmann::json::parse(std::ifstream(file_));
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["rows"][0]["runs"][0]["identity"]["options"], "--seed 1");
  EXPECT_EQ(json["rows"][0]["communicating"], 0.3);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".part"));
}

}  // namespace
}  // namespace tacit::cli
