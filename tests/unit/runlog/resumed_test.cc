// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <filesystem>

#include "runlog/reader.h"
#include "runlog/writer.h"
#include "support/temp_dir.h"

namespace tacit::test {
namespace {

TEST(RunLog, OfARunThatWentOnHasWhatWasDoneAgainOnce) {
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "run.jsonl";
  RunLogWriter log(file);
  log.write(RunStarted{});
  for (const int step : {10, 20, 30}) log.write(StepsDone{0, step, 1, 1, 1});
  log.write(Evaluated{30, 1, 1, 1, 1});
  log.write(RunResumed{"0.1.0", 20, 4, "saved/step-20", ""});
  for (const int step : {30, 40}) log.write(StepsDone{0, step, 2, 1, 1});
  const RunRecord record = read_run_log(file);
  ASSERT_EQ(record.steps.size(), 4U);
  EXPECT_EQ(record.steps[2].step, 30);
  EXPECT_EQ(record.steps[2].loss, 2);
  EXPECT_TRUE(record.evaluations.empty());
}

}  // namespace
}  // namespace tacit::test
